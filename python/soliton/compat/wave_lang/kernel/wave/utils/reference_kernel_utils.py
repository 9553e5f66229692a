"""What kernels should compute, by torch."""

import torch


def scaled_dot_product_attention_bhsd(query, key, value, is_causal=False, sliding_window=-1, custom_mask=None):
    """Attention in f32 on [B, H, S, D]; rows that attend to nothing are zero."""
    query, key, value = query.float(), key.float(), value.float()
    scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    q, k = torch.arange(query.shape[-2], device=query.device)[:, None], torch.arange(key.shape[-2], device=query.device)[None, :]
    allowed = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device)
    if is_causal:
        allowed = k <= q
        if sliding_window >= 0:
            allowed = allowed & (k >= q - sliding_window)
    allowed = allowed.expand(scores.shape)
    if custom_mask is not None:
        allowed = allowed & ~custom_mask.bool()[:, None, :, None]
    weights = torch.softmax(scores.masked_fill(~allowed, float("-inf")), dim=-1)
    return torch.nan_to_num(weights) @ value
