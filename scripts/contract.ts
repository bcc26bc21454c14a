/**
 * `make contract`: the suite of `test/contract/`, line by line of docs/service.md. On the simulator, or with BASE_URL, ACCESS_ID and
 * ACCESS_KEY (from the command line of make, or the environment) on a deployment, where it keeps to the rate and ends with what it
 * did not try. CA_FILE, QUERY and ALLOW_UPGRADES are in `test/contract/deployment.ts`. Ends with status 1 unless all that was tried
 * passed, and with 2 where it was called wrongly.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const required = ['BASE_URL', 'ACCESS_ID', 'ACCESS_KEY'] as const;
const optional = ['CA_FILE', 'QUERY', 'ALLOW_UPGRADES'] as const;
/** A search on a deployment takes as long as it takes. */
const deploymentTimeoutMs = 600_000;

const given = (name: string) => process.env[name] || undefined;

/** What is wrong with the call. */
function problem(): string | undefined {
  const missing = required.filter((name) => given(name) === undefined);
  if (missing.length > 0) return `give ${missing.join(' and ')} as well, or none of ${required.join(', ')}`;
  const baseURL = given('BASE_URL') ?? '';
  if (!URL.canParse(baseURL) || new URL(baseURL).protocol !== 'https:')
    return `BASE_URL is ${baseURL}: give an address as https://host/api`;
  return undefined;
}

const onDeployment = required.some((name) => given(name) !== undefined);
const wrong = onDeployment ? problem() : undefined;
if (wrong !== undefined) {
  process.stderr.write(`contract: ${wrong}\n`);
  process.exitCode = 2;
} else {
  const names = onDeployment ? [...required, ...optional] : [];
  const settings = Object.fromEntries(names.map((name) => [`LOGFLEET_CONTRACT_${name}`, given(name)]));
  // One file after the other, since all of them share the user's rate.
  const timeout = String(deploymentTimeoutMs);
  const paced = ['--no-file-parallelism', '--testTimeout', timeout, '--hookTimeout', timeout];
  const arguments_ = [
    join(root, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--project=contract',
    '--reporter=default',
    '--reporter=./scripts/untried-reporter.ts',
    ...(onDeployment ? paced : []),
  ];
  const { status, error } = spawnSync(process.execPath, arguments_, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...settings },
  });
  if (error) process.stderr.write(`${error.message}\n`);
  process.exitCode = status === 0 ? 0 : 1;
}
