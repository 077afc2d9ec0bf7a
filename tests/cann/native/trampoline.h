# Each aclnn<Name>GetWorkspaceSize hands its name, registers and stack to emulated_prepare; each aclnn<Name> is emulated_launch.
.text
emulated_entry:
    pop %rax
    lea 8(%rsp), %r10
    push %rbp
    mov %rsp, %rbp
    sub $144, %rsp
    and $-16, %rsp
    mov %rdi, 0(%rsp)
    mov %rsi, 8(%rsp)
    mov %rdx, 16(%rsp)
    mov %rcx, 24(%rsp)
    mov %r8, 32(%rsp)
    mov %r9, 40(%rsp)
    movsd %xmm0, 48(%rsp)
    movsd %xmm1, 56(%rsp)
    movsd %xmm2, 64(%rsp)
    movsd %xmm3, 72(%rsp)
    movsd %xmm4, 80(%rsp)
    movsd %xmm5, 88(%rsp)
    movsd %xmm6, 96(%rsp)
    movsd %xmm7, 104(%rsp)
    mov %r10, 112(%rsp)
    mov %rax, %rdi
    mov %rsp, %rsi
    call emulated_prepare@PLT
    leave
    ret
