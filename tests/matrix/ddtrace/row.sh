# SPDX-License-Identifier: Apache-2.0
# ddtrace on Python: OpenTelemetry's thread context, by libdatadog in its native module. It has no
# attribute but the local root span.
version="ddtrace"
labels=

get() {
	python=$(python3 -c 'import sys; print(sys.executable)') || return 77
	[ -d site/ddtrace ] || fetched python3 -m pip install -q --disable-pip-version-check --target site 'ddtrace>=4.13' || return
	version="ddtrace $(PYTHONPATH=site python3 -c 'from importlib.metadata import version; print(version("ddtrace"))')"
	command=(env PYTHONPATH="$PWD/site:$PWD/.." PYTHONDONTWRITEBYTECODE=1 DD_TRACE_OTEL_CTX_ENABLED=true
		DD_INSTRUMENTATION_TELEMETRY_ENABLED=false DD_REMOTE_CONFIGURATION_ENABLED=false
		DD_TRACE_STARTUP_LOGS=false DD_TRACE_AGENT_URL=unix:///nowhere
		"$python" "$PWD/main.py")
}
