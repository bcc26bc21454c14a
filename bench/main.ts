/** `npm run bench -- NAME`: runs one benchmark with the servers that it needs. */
import { parseArgs } from 'node:util';

const usage = `npm run bench -- NAME [--quick] [--full] [--json] [--only PART,PART]

  rollout     requests, duration, memory, CPU time and latency of a rollout
                --quick   small fleets and few repetitions: two minutes instead of five
                --full    100,000 collectors from the first upgrade to the last: twenty minutes
                --only    parts: requests, converged, load, latency
                --json    one JSON document instead of tables
  client      speed and memory of reading message pages, requests per search, number of jobs kept alive, and memory of the
              simulator with a year of messages and 200 jobs
                --quick   few repetitions
                --only    parts: scanner, transfer, requests, alive, memory
                --json    one JSON document instead of tables
  output      speed and memory of converting message pages to files, for each format and compression
                --quick   short runs
                --only    parts: encoding, levels (each level of gzip and zstd), processors (one, then all)
                --json    one JSON document instead of tables
  export      requests for an export of a million messages; speed and memory of writing files, compared with a simple script; takes a
              quarter of an hour
                --quick   few messages and no repetitions
                --only    parts: requests, compared (with a simple script), partitions (by hour), large (ten million messages,
                          and pages of 100 MB), processors (one, then both), command (memory of logfleet export), workers (two
                          workers of a Kubernetes Job)
                --json    one JSON document instead of tables
  many        cost of thousands of idle resources: a restart, memory, first statuses, an idle minute
                --resources N  number of resources in each population; default 10000
                --only    populations: paused (exports), complete (exports), schedules, policies, waiting (exports whose Secret is missing)
                --profiles DIR  folder for the operator's CPU profiles
                --json    one JSON document instead of tables
  ui          time until logfleet ui shows thousands of resources in Chromium, and until it shows a change; memory and CPU time
                --resources N  number of resources; default 10000
                --json    one JSON document instead of a table
  simulator   throughput of the simulated service without request limits`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    full: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
    resources: { type: 'string', default: '10000' },
    profiles: { type: 'string' },
  },
});

switch (positionals[0]) {
  case 'rollout': {
    const { benchRollout } = await import('./rollout.ts');
    const { only, ...rest } = values;
    await benchRollout({ ...rest, ...(only === undefined ? {} : { only: only.split(',') }) });
    break;
  }
  case 'client': {
    const { benchClient } = await import('./client.ts');
    const { only, ...rest } = values;
    await benchClient({ ...rest, ...(only === undefined ? {} : { only: only.split(',') }) });
    break;
  }
  case 'output': {
    const { benchOutput } = await import('./output.ts');
    const { only, ...rest } = values;
    await benchOutput({ ...rest, ...(only === undefined ? {} : { only: only.split(',') }) });
    break;
  }
  case 'export': {
    const { benchExport } = await import('./export.ts');
    const { only, ...rest } = values;
    await benchExport({ ...rest, ...(only === undefined ? {} : { only: only.split(',') }) });
    break;
  }
  case 'many': {
    const { benchMany } = await import('./many.ts');
    const { only, profiles, resources, json } = values;
    const options = { json, resources: Number(resources), ...(profiles === undefined ? {} : { profiles }) };
    await benchMany({ ...options, ...(only === undefined ? {} : { only: only.split(',') }) });
    break;
  }
  case 'ui': {
    const { benchUi } = await import('./ui.ts');
    const { resources, json } = values;
    await benchUi({ json, resources: Number(resources) });
    break;
  }
  case 'simulator': {
    const { benchSimulator } = await import('./simulator.ts');
    await benchSimulator();
    break;
  }
  default:
    console.error(usage);
    process.exitCode = 2;
}
