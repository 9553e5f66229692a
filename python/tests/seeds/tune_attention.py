from iree.turbine.kernel.wave.tuner.tune_attention import (
    tune_attention, AttentionConfig
)
from iree.turbine.kernel.wave.constraints import MMAType
from iree.turbine.kernel.wave.scheduling import SchedulingType

# Configure the attention kernel
config = AttentionConfig(
    batch_size=1,
    num_heads=32,
    seq_len_q=512,
    seq_len_k=512,
    head_dim=64,
    head_dim_kv=64,
    mfma_variant=(MMAType.F32_32x32x8_F16, MMAType.F32_32x32x8_F16),
    enable_scheduling=SchedulingType.MODULO,
    dynamic_dims=False,
    num_warmup=10,
    num_iterations=100,
)

# Run optimization
best_schedule, best_latency = tune_attention(config)
print(f"Best latency: {best_latency:.6f} seconds")
