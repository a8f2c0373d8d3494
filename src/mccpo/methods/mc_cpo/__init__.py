"""MC-CPO and the paper's baselines, which are one algorithm in other numbers: mask, multipliers, frontier mixing."""
