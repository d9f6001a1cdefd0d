"""The chaos drill: a site of its own in the sandbox, hurt in every way the design speaks of.

    plan ──> customers order by the web ──> site under `up`, and a second cluster
      │                                        │  proxy between it and the sandbox
      ├──> saboteur kills, stops, restarts     │  relay between the sandbox's webhooks and it
      └──> proxy and relay spoil the wire      v
    heal ──> wait for quiet ──> desk reads the rows, the sandbox its bill ──> reckoning ──> report

`plan` and `reckoning` are pure; a seed replays the injections. Linux alone.
"""
