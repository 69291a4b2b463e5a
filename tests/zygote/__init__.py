"""Scripts from a zygote."""
