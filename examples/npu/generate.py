"""transformers' generate, greedy and by beams, on the device that there is."""
import torch
from transformers import LlamaConfig, LlamaForCausalLM


def main():
    device = torch.accelerator.current_accelerator() or torch.device("cpu")
    torch.manual_seed(0)
    small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=60, bos_token_id=1, eos_token_id=None, pad_token_id=0, **small)).to(device).eval()
    tokens = torch.tensor([[1, 7, 9], [1, 4, 2]], device=device)
    for number, beams in enumerate((1, 3)):
        words = model.generate(tokens, max_new_tokens=8, do_sample=False, num_beams=beams)
        print(f"step {number}: {' '.join(map(str, words.flatten().tolist()))}")


if __name__ == "__main__":
    main()
