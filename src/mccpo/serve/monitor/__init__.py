"""What happens to learners as they are taught, and whether to all groups alike."""

from mccpo.serve.monitor.monitor import BOUNDS, Monitor
from mccpo.serve.monitor.prometheus import CONTENT_TYPE, Metrics
from mccpo.serve.monitor.report import MonitorReport
from mccpo.serve.monitor.watch import Watch

__all__ = ["BOUNDS", "CONTENT_TYPE", "Metrics", "Monitor", "MonitorReport", "Watch"]
