# Example of schedule validation
validator = ScheduleValidator(
    initial_schedule=schedule,
    T=initiation_interval,
    nodes=nodes,
    resource_limits=resource_limits,
    node_rrt_getter=node_rrt_getter,
    raw_edges_list=edges,
    num_resource_types=num_resource_types,
)

# Attempt to move a node
success, new_schedule, error_msg = validator.attempt_move(node, new_cycle)
if success:
    validator.commit_move(new_schedule, new_rrt)
