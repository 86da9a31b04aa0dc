// SPDX-License-Identifier: Apache-2.0
//
// node_requests.js burn|wait SECONDS PACKAGES: two requests and a loop for none, of a program that
// knows nothing of weft and publishes by @datadog/pprof what its asynchronous contexts are for:
//
//	request  span  by turns
//	first    0x11  3 parts
//	second   0x22  1
//	none     -     2
//
// Each part is 1 ms of CPU time with objects that are thrown away (burn), or a wait of 10 ms that
// blocks the thread (wait); between them the loop turns, so that contexts are left and entered. With
// burn a worker works for 0x33, which is an isolate of its own. "ready PID" when all have begun; at
// the end what the three took, by the main thread's own clocks, in ns.
'use strict';
const {Worker, isMainThread, workerData} = require('node:worker_threads');
const {setImmediate: turn} = require('node:timers/promises');

const [mode, seconds, packages] = isMainThread ? process.argv.slice(2) : workerData;
const {otelThreadCtx: contexts} = require(packages + '/node_modules/@datadog/pprof');
const spent = [0, 0, 0];
const until = Date.now() + 1000 * Number(seconds);
const cell = new Int32Array(new SharedArrayBuffer(4));

function cpuNs() {
	const now = process.threadCpuUsage ? process.threadCpuUsage() : process.cpuUsage();
	return 1000 * (now.user + now.system);
}

function wallNs() {
	return Number(process.hrtime.bigint());
}

function work(parts) {
	const clock = mode === 'wait' ? wallNs : cpuNs;
	const began = clock();
	let kept = [];

	if (mode === 'wait')
		Atomics.wait(cell, 0, 0, 10 * parts);
	else
		while (clock() - began < 1e6 * parts) {
			for (let i = 0; i < 100; i++)
				kept.push({at: i, text: 'request ' + i});
			if (kept.length > 20000)
				kept = [];
		}
	return clock() - began;
}

async function serve(request, parts) {
	while (Date.now() < until) {
		spent[request] += work(parts);
		await turn();
	}
}

function inContext(span, action) {
	const trace = Buffer.alloc(16, 0xa0), id = Buffer.alloc(8);
	id[7] = span;
	const context = new contexts.ThreadContext(trace, id, 1, ['00000000000000cc', 'tenant']);

	return contexts.runWithContext ? contexts.runWithContext(context, action) : context.run(action);
}

async function main() {
	if (!isMainThread)
		return inContext(0x33, () => serve(2, 1));
	const all = [inContext(0x11, () => serve(0, 3)), inContext(0x22, () => serve(1, 1)), serve(2, 2)];

	if (mode === 'burn')
		new Worker(__filename, {workerData: [mode, seconds, packages]});
	console.log('ready', process.pid);
	await Promise.all(all);
	console.log(...spent);
}

main();
