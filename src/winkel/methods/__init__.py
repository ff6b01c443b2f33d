"""The mathematics of the papers, as functions of (data, settings, run): mde, quadratic, lvm, tsm, kds and forces."""
