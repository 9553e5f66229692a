def measure_with_rpd(kernel_fn, *args, num_warmup, num_iterations,
                    output_filename, config):
    # Warmup runs
    for _ in range(num_warmup):
        _ = kernel_fn(*args)

    # Benchmark runs with profiling
    tracer = rpdTracerControl()
    tracer.start()
    for _ in range(num_iterations):
        _ = kernel_fn(*args)
    tracer.stop()

    # Calculate average latency
    avg_time = calculate_average_latency(output_filename)
    return avg_time
