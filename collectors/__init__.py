"""Evidence in: `live` takes it from this machine, `open` from what a user hands over, `readers` make facts of it."""
