"""Evidence in: `live` takes it from this machine, `open` from what users give, `readers` make facts of it."""
