"""Pictures of a population beside its sample, one module a picture; drawn from tables only."""
