# Each target is a script of the same name in scripts/, for those who have no make.
TARGETS := demo test test-agents check coverage soak audit bench
.PHONY: $(TARGETS) bench-check clean
$(TARGETS):
	scripts/$@
bench-check:
	scripts/bench --check
clean:
	rm -rf .venv .agents .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
