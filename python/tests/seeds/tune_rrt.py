# RRT structure: (num_cycles, num_resource_types)
rrt = np.zeros((initiation_interval, num_resource_types), dtype=int)

# Example RRT for a 4-cycle schedule with 3 resource types
# Cycle | Resource1 | Resource2 | Resource3
#   0   |     1     |     0     |     2
#   1   |     0     |     2     |     1
#   2   |     2     |     1     |     0
#   3   |     1     |     1     |     1
