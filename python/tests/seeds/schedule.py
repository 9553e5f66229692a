@wave_schedule.wave_schedule()
def prefetch_schedule():
    # Get nodes to be manipulated in the schedule
    k_loop = wave.get_node_by_tag("k_loop")
    load_a = wave.get_node_by_tag_and_type("read_a", wave.Read)
    global_load_a, shared_load_a = wave.partition_by_address_space(
        load_a, GLOBAL_ADDRESS_SPACE
    )
    shared_write_a = wave.get_node_by_tag_and_type("read_a", wave.Write)
    load_b = wave.get_node_by_tag_and_type("read_b", wave.Read)
    global_load_b, shared_load_b = wave.partition_by_address_space(
        load_b, GLOBAL_ADDRESS_SPACE
    )
    shared_write_b = wave.get_node_by_tag_and_type("read_b", wave.Write)
    mma = wave.get_node_by_tag("mma")

    # Create a pipeline with 2 stages and initiation interval of 2
    with wave.pipeline(
        k_loop, num_stages=2, initiation_interval=2
    ) as pipelined_loop:
        pipelined_loop.set_stage(
            0,
            [
                global_load_a,
                global_load_b,
                shared_write_a,
                shared_write_b,
            ],
        )
        pipelined_loop.set_stage(
            1,
            [
                shared_load_a,
                shared_load_b,
                mma,
            ],
        )

