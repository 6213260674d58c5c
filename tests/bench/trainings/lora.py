"""LoRA on a small Llama: most parameters are frozen; gradients of two batches add up."""
import torch
from common import Made, arguments, device, endless
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

args = arguments(batch_size=4)
config = LlamaConfig(vocab_size=2000, hidden_size=128, intermediate_size=256, num_hidden_layers=3, num_attention_heads=4)
model = get_peft_model(LlamaForCausalLM(config), LoraConfig(r=4, target_modules=["q_proj", "v_proj"])).to(device())
optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=1e-3)
loader = torch.utils.data.DataLoader(Made(lambda index: torch.randint(2000, (48,))), batch_size=args.batch_size,
                                     shuffle=True, num_workers=2)
batches = endless(loader)
for step in range(args.steps):
    for _ in range(2):
        tokens = next(batches).to(device())
        (model(input_ids=tokens, labels=tokens).loss / 2).backward()
    optimizer.step()
    optimizer.zero_grad()
