# Custom optimization parameters
result = optimizer.optimize(
    max_iterations=50,           # More iterations
    max_no_improvement=30,       # Longer patience
    verbose=True                 # Detailed logging
)

# Access optimization history
print(f"Improvement history: {result.improvement_history}")
print(f"Total iterations: {result.iterations}")

# Save custom schedule files
dump_schedule(
    schedule=result.schedule,
    initiation_interval=initiation_interval,
    num_stages=num_stages,
    dump_file="custom_schedule.txt",
    resource_reservations=resource_reservations,
    resource_names=resource_names
)
