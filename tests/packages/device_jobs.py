"""Jobs of packages on a device, and the same on the CPU: ``python -m mstorch -m tests.packages.device_jobs PACKAGE cpu|npu``.

A package's jobs print one line each, as JSON. What draws on the device (dropout, noise) is left out or drawn on the CPU.
"""
from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from typing import Any

import torch
from torch.nn import functional as F


def _ids(place: str) -> Any:
    return torch.tensor([[1, 5, 9, 13, 4], [1, 7, 8, 3, 6]]).to(place)


def _llama(**options: Any) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
        bos_token_id=1, eos_token_id=2, pad_token_id=0, **options,
    ))  # fmt: skip


def _gpt2() -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(
        vocab_size=64, n_positions=64, n_embd=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2, pad_token_id=0, attn_pdrop=0.0, resid_pdrop=0.0,
        embd_pdrop=0.0,
    ))  # fmt: skip


class _Rows(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 16

    def __getitem__(self, i: int) -> dict[str, Any]:
        row = (torch.arange(6) * (i + 3)) % 60 + 3
        return {"input_ids": row, "labels": row}


def _trained(place: str, model: Any, **options: Any) -> Any:
    from transformers import Trainer, TrainingArguments

    arguments = TrainingArguments(
        output_dir="out", per_device_train_batch_size=4, num_train_epochs=2, learning_rate=1e-2, logging_steps=1, save_strategy="epoch", report_to=[],
        use_cpu=place == "cpu", seed=7, disable_tqdm=True, weight_decay=0.01, warmup_steps=2, max_grad_norm=0.5, **options,
    )  # fmt: skip
    trainer = Trainer(model=model, args=arguments, train_dataset=_Rows(), eval_dataset=_Rows())
    assert trainer.args.device.type == place
    trainer.train()
    return [(entry["loss"], entry["grad_norm"]) for entry in trainer.state.log_history if "loss" in entry], trainer.evaluate()["eval_loss"]


def transformers_trainer(place: str) -> Any:
    return _trained(place, _gpt2()), _trained(place, _llama(), gradient_checkpointing=True, gradient_accumulation_steps=2)


def transformers_trainer_bf16(place: str) -> Any:
    return _trained(place, _gpt2(), bf16=True)


def transformers_device_map(place: str) -> Any:
    from transformers import AutoModelForCausalLM

    _llama().save_pretrained("saved")
    model = AutoModelForCausalLM.from_pretrained("saved", device_map="cpu" if place == "cpu" else "auto")
    assert {one.device.type for one in model.parameters()} == {place}
    return model(_ids(place)).logits.tolist()


def transformers_generate(place: str) -> Any:
    found = []
    for model in (_gpt2().to(place).eval(), _llama().to(place).eval()):
        ids = _ids(place)
        for options in ({}, {"cache_implementation": "static"}, {"cache_implementation": "dynamic"}, {"num_beams": 3}):
            made = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=12, do_sample=False, **options)
            assert made.device.type == place
            found.append(made.tolist())
    return found


def accelerate_training(place: str) -> Any:
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState
    from accelerate.utils import broadcast_object_list, set_seed

    AcceleratorState._reset_state(reset_partial_state=True)  # an earlier job of this process may have chosen another place
    set_seed(5)
    accelerator = Accelerator(cpu=place == "cpu", gradient_accumulation_steps=2)
    assert accelerator.device.type == place
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(16, 3), torch.randn(16, 1)), 2, shuffle=True)
    net, optimizer, loader, schedule = accelerator.prepare(net, optimizer, loader, schedule)
    found = []
    for _ in range(2):
        for x, y in loader:
            with accelerator.accumulate(net):
                loss = F.mse_loss(net(x), y)
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            found.append(accelerator.gather(loss.detach().reshape(1)).tolist())
    folder = broadcast_object_list([os.path.abspath("state")])[0]  # of several processes, only the first one prints
    accelerator.save_state(folder)
    accelerator.wait_for_everyone()
    accelerator.load_state(folder)
    accelerator.wait_for_everyone()
    found.append([one.tolist() for one in accelerator.unwrap_model(net).parameters()])
    return found, accelerator.num_processes, list(accelerator.gather_for_metrics((x, y))[0].shape)


def peft_lora(place: str) -> Any:
    from peft import LoraConfig, PeftModel, get_peft_model

    settings = LoraConfig(r=4, lora_alpha=8, target_modules=["c_attn"], task_type="CAUSAL_LM", fan_in_fan_out=True)
    model, ids = get_peft_model(_gpt2(), settings).to(place), _ids(place)
    optimizer = torch.optim.AdamW([one for one in model.parameters() if one.requires_grad], 1e-2)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval().save_pretrained("adapter")
    merged = PeftModel.from_pretrained(_gpt2().to(place), "adapter").eval().merge_and_unload()
    assert merged.device.type == place
    return losses, model(ids).logits.tolist(), merged(ids).logits.tolist()


def trl_sft(place: str) -> Any:
    import datasets
    from peft import LoraConfig
    from trl import SFTConfig, SFTTrainer

    datasets.arrow_dataset.generate_fingerprint = lambda rows: "rows"  # which some releases of dill break, with torch too
    rows = datasets.Dataset.from_list([{"input_ids": [(j * (i + 3)) % 60 + 3 for j in range(6)]} for i in range(8)])
    found = []
    for adapters in (None, LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")):
        settings = SFTConfig(
            output_dir="out", per_device_train_batch_size=2, num_train_epochs=1, learning_rate=1e-2, logging_steps=1, save_strategy="no", report_to=[],
            use_cpu=place == "cpu", bf16=False, seed=7, disable_tqdm=True, dataset_kwargs={"skip_prepare_dataset": True}, max_length=8,
            gradient_checkpointing=False,
        )  # fmt: skip
        trainer = SFTTrainer(model=_llama(), args=settings, train_dataset=rows, processing_class=_tokens(), peft_config=adapters)
        assert trainer.args.device.type == place
        trainer.train()
        found.append([entry["loss"] for entry in trainer.state.log_history if "loss" in entry])
    return found


def _tokens() -> Any:
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = {f"t{i}": i for i in range(64)}
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="t3")), pad_token="t0", eos_token="t2", bos_token="t1")


def _diffusers_alone() -> None:
    """Hide packages that diffusers would import and that no job needs: xformers is for GPUs, torchsde needs further packages."""
    import diffusers.utils.import_utils as found

    found._xformers_available = found._torchsde_available = False


def diffusers_pipelines(place: str) -> Any:
    _diffusers_alone()
    from diffusers import DDIMPipeline, DDIMScheduler, DDPMPipeline, DDPMScheduler, UNet2DModel

    torch.manual_seed(0)
    model = UNet2DModel(
        sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"), attention_head_dim=4,
    ).to(place)  # fmt: skip
    schedule, optimizer, losses = DDPMScheduler(num_train_timesteps=50), torch.optim.AdamW(model.parameters(), 1e-3), []
    for _ in range(3):
        noise, steps = torch.randn(2, 1, 8, 8).to(place), torch.randint(0, 50, (2,)).to(place)
        loss = F.mse_loss(model(schedule.add_noise(torch.ones_like(noise), noise, steps), steps).sample, noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    images = []
    for kind, of in ((DDPMPipeline, schedule), (DDIMPipeline, DDIMScheduler(num_train_timesteps=50))):
        pipeline = kind(model, of).to(place)
        pipeline.set_progress_bar_config(disable=True)
        assert pipeline.device.type == place
        images.append(pipeline(generator=torch.Generator().manual_seed(0), num_inference_steps=5, output_type="np").images.tolist())
    return losses, images


def diffusers_text_to_image(place: str) -> Any:
    _diffusers_alone()
    import diffusers.models.activations as activations
    from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel

    if place == "cpu":  # as diffusers requests it on NPUs: the approximation
        activations.GEGLU.gelu = lambda self, gate: F.gelu(gate, approximate="tanh")
    torch.manual_seed(0)
    unet = UNet2DConditionModel(
        sample_size=8, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4, cross_attention_dim=16,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), attention_head_dim=4,
    )  # fmt: skip
    coder = AutoencoderKL(
        block_out_channels=(8, 8), in_channels=3, out_channels=3, latent_channels=4, norm_num_groups=4, down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
    )  # fmt: skip
    text = CLIPTextModel(CLIPTextConfig(vocab_size=64, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
                                        max_position_embeddings=16, bos_token_id=1, eos_token_id=2))  # fmt: skip
    pipeline = StableDiffusionPipeline(coder, text.eval(), None, unet, DDIMScheduler(), None, None, requires_safety_checker=False).to(place)
    pipeline.set_progress_bar_config(disable=True)
    with torch.no_grad():
        said, unsaid = (pipeline.text_encoder(row[None]).last_hidden_state for row in _ids(place))
    return pipeline(
        prompt_embeds=said, negative_prompt_embeds=unsaid, height=16, width=16, num_inference_steps=3, generator=torch.Generator().manual_seed(0),
        output_type="np",
    ).images.tolist()  # fmt: skip


def lightning_fit(place: str) -> Any:
    import lightning
    from lightning.pytorch.strategies import SingleDeviceStrategy

    class Net(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.seen = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)), []

        def training_step(self, batch: Any, index: int) -> Any:
            assert batch[0].device.type == self.device.type == place
            loss = F.cross_entropy(self.layer(batch[0]), batch[1])
            self.log("train_loss", loss, on_epoch=True)
            self.seen.append(loss.item())
            return loss

        def validation_step(self, batch: Any, index: int) -> None:
            self.log("val_loss", F.cross_entropy(self.layer(batch[0]), batch[1]))

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.Adam(self.parameters(), 0.02)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)]

    class Npus(lightning.pytorch.accelerators.Accelerator):
        """An accelerator as other packages register one with lightning."""

        def setup_device(self, device: Any) -> None:
            torch.npu.set_device(device)

        def get_device_stats(self, device: Any) -> dict[str, Any]:
            return torch.npu.memory_stats(device)

        def teardown(self) -> None:
            torch.npu.empty_cache()

        @staticmethod
        def parse_devices(devices: Any) -> Any:
            return list(range(devices)) if isinstance(devices, int) else devices

        @staticmethod
        def get_parallel_devices(devices: Any) -> Any:
            return [torch.device("npu", index) for index in devices]

        @staticmethod
        def auto_device_count() -> int:
            return torch.npu.device_count()

        @staticmethod
        def is_available() -> bool:
            return torch.npu.is_available()

        @staticmethod
        def name() -> str:
            return "npu"

    lightning.seed_everything(3, verbose=False)
    net, data = Net(), torch.utils.data.TensorDataset(torch.randn(24, 4), torch.randint(0, 2, (24,)))
    how: dict[str, Any] = {"accelerator": "cpu"}
    if place == "npu" and torch.cuda.is_available():  # cuda means npu
        how = {"accelerator": "auto"}
    elif place == "npu":
        how = {"strategy": SingleDeviceStrategy(torch.device("npu", 0), accelerator=Npus())}
    trainer = lightning.Trainer(
        max_epochs=3, devices=1, **how, logger=False, enable_progress_bar=False, enable_model_summary=False,
        gradient_clip_val=1.0, default_root_dir=".",
    )  # fmt: skip
    trainer.fit(net, torch.utils.data.DataLoader(data, 8, shuffle=True), torch.utils.data.DataLoader(data, 8))
    back = Net.load_from_checkpoint(trainer.checkpoint_callback.best_model_path, map_location="cpu")
    return net.seen, float(trainer.callback_metrics["val_loss"]), back.layer(torch.ones(1, 4)).tolist()


def torchmetrics_metrics(place: str) -> Any:
    import torchmetrics as tm

    torch.manual_seed(0)
    logits, target = torch.randn(40, 3).to(place), torch.randint(0, 3, (40,)).to(place)
    every = tm.MetricCollection({
        "acc": tm.Accuracy("multiclass", num_classes=3), "f1": tm.F1Score("multiclass", num_classes=3, average="macro"),
        "auroc": tm.AUROC("multiclass", num_classes=3), "ap": tm.AveragePrecision("multiclass", num_classes=3),
        "conf": tm.ConfusionMatrix("multiclass", num_classes=3),
    }).to(place)  # fmt: skip
    every.update(logits[:20].softmax(-1), target[:20])
    every.update(logits[20:].softmax(-1), target[20:])
    a, b = torch.randn(30).to(place), torch.randn(30).to(place)
    others = [kind().to(place)(a, b) for kind in (tm.MeanSquaredError, tm.R2Score, tm.PearsonCorrCoef, tm.SpearmanCorrCoef)]
    images = torch.rand(2, 1, 16, 16).to(place), torch.rand(2, 1, 16, 16).to(place)
    others += [kind(data_range=1.0).to(place)(*images) for kind in (tm.image.StructuralSimilarityIndexMeasure, tm.image.PeakSignalNoiseRatio)]
    found = every.compute()
    assert {one.device.type for one in (*found.values(), *others)} == {place}
    return {name: value.tolist() for name, value in found.items()}, [value.tolist() for value in others]


def timm_training(place: str) -> Any:
    import timm
    from timm.data import Mixup
    from timm.loss import SoftTargetCrossEntropy
    from timm.optim import create_optimizer_v2
    from timm.utils import ModelEmaV2, accuracy

    found = []
    for name, options in (("resnet10t", {}), ("vit_tiny_patch16_224", {"img_size": 64, "depth": 2})):
        torch.manual_seed(0)
        model = timm.create_model(name, pretrained=False, num_classes=7, **options).to(place)
        average, optimizer = ModelEmaV2(model, decay=0.9), create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
        import numpy

        numpy.random.seed(0)
        mixed, criterion = Mixup(mixup_alpha=0.2, cutmix_alpha=1.0, num_classes=7, label_smoothing=0.1), SoftTargetCrossEntropy().to(place)
        for _ in range(2):
            x, y = torch.randn(4, 3, 64, 64).to(place), torch.randint(0, 7, (4,)).to(place)
            soft, goal = mixed(x.clone(), y)
            loss = criterion(model(soft), goal)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            average.update(model)
            found.append(loss.item())
        with torch.no_grad():
            out = average.module.eval()(x)
        found.append([one.item() for one in accuracy(out, y, topk=(1, 5))])
    return found


def main(package: str, place: str) -> None:
    """Run a package's jobs in an empty folder."""
    warnings.simplefilter("ignore")
    for name, job in list(globals().items()):
        if name.startswith(f"{package}_") and callable(job):
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                torch.manual_seed(0)
                found = job(place)
                os.chdir("/")
            if os.environ.get("RANK", "0") == "0":
                print("JOB " + json.dumps([name, found]))
    if place != "cpu":
        from mstorch._src.backend import fake

        assert fake.computed.total() > 20, "nothing was computed on the device"


if __name__ == "__main__":
    main(*sys.argv[1:])
