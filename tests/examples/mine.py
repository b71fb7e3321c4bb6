"""A method of one's own in Python (docs/research.md): what mine.c does. PYTHONPATH=python python3 mine.py"""
import berth


def mine(e):
    v = e.view
    # By falling rank, each to the device where it ends first.
    for op in v.rank_op:
        ends = [(end, d) for d in range(v.n_devs) if (end := e.finish(op, d)) is not None]
        e.put(op, min(ends)[1])
    best, order = e.take()
    e.value(best, order)
    least = e.value(best)
    # Whole groups to another device, while that helps.
    idle = 0
    while idle < v.n_groups:
        for g in range(v.n_groups):
            idle += 1
            ops = v.group_op[v.group_off[g]:v.group_off[g + 1]]
            for d in range(v.n_devs):
                if d == best[ops[0]] or not v.op_dev_legal[ops[0]][d]:
                    continue
                moved = e.placement(best)
                for op in ops:
                    moved[op] = d
                value = e.near(best, moved)
                if value < least:
                    least, best, idle = value, moved, 0


if __name__ == "__main__":
    graphs = [berth.load("zoo:resnet50"), berth.load("zoo:inception-v3")]
    systems = [berth.machine("system:cpu+2gpu"), berth.machine("system:edge")]
    for row in berth.compare(graphs, systems, ["heft", "anneal", mine], evaluations=2000):
        print("{graph:14} {system:10} {method:8} {value:.6f} s {evaluations:6}".format(**row))
