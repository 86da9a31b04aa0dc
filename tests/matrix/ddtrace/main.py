# SPDX-License-Identifier: Apache-2.0
"""The matrix's program with ddtrace: a span for each tenant and worker would have many ids, so there
is one for each tenant, which is made the active one in turns. None ends: nothing is to be sent."""

import contextlib

from ddtrace.trace import tracer

import turns

spans = {tenant: tracer.start_span(tenant, activate=False) for tenant in turns.TENANTS}


@contextlib.contextmanager
def within(tenant):
    tracer.context_provider.activate(spans[tenant])
    yield
    tracer.context_provider.activate(None)


turns.run(within, lambda tenant: spans[tenant].span_id)
