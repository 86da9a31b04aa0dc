# SPDX-License-Identifier: Apache-2.0
"""own_labels.py any|own < JSON of weft inspect: is it JSON of the documented shape? With "own":
are all labels of a thread of tests/stress/labels/storm.c its own, of whole writes, and its ids
of one context? Prints how many labels it looked at; or what is wrong, and exits 1."""
import json
import re
import sys

VALUE = re.compile(r'^(\d+)\.(\d+)\.(x*)$')


def wrong_in_labels(labels):
    rounds, threads = {}, set()
    for key, value in labels.items():
        if key in ('datadog.local_root_span_id', 'span-id', 'root-span-id'):
            continue
        found = VALUE.match(value)
        if not re.match(r'^([bs]\d|n\d)$', key) or not found:
            return 'a label that nobody has written: %s=%s' % (key, value[:40])
        thread, turn, tail = int(found[1]), int(found[2]), len(found[3])
        if tail != turn * 7 % 200:
            return 'half a value: %s=%s' % (key, value[:40])
        threads.add(thread)
        rounds[key] = turn
    if len(threads) > 1:
        return 'labels of two threads: %s' % threads
    batch = {turn for key, turn in rounds.items() if key[0] == 'b'}
    if len(batch) > 1:
        return 'a batch of two rounds: %s' % batch
    return None


def wrong_in_ids(context):
    span, root = context['span_id'], context['root_span_id']
    if span and root and int(root, 16) != int(span, 16) + 1:
        return 'span and root span of two contexts: %s %s' % (span, root)
    return None


def main():
    own, labels = sys.argv[1] == 'own', 0
    threads = json.load(sys.stdin)['threads']
    for thread in threads:
        for context in thread['contexts']:
            assert context['abi'] in ('weft', 'otel', 'custom-labels')
            if not own or context.get('torn') or context.get('unreadable'):
                continue
            wrong = wrong_in_labels(context['attributes']) or wrong_in_ids(context)
            if wrong:
                print(wrong, json.dumps(context)[:1000])
                return 1
            labels += len(context['attributes'])
    print(labels)
    return 0


sys.exit(main())
