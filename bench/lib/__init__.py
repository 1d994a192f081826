"""What the benchmark driver, its peers and its references share."""
