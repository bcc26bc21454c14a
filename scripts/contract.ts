/**
 * `make contract`: runs the suite in `test/contract/`, which follows docs/service.md line by line. By default it tests the
 * simulator. With BASE_URL, ACCESS_ID and ACCESS_KEY it tests a deployment of the log service: it stays below the rate limit, and
 * lists what it did not test. `test/contract/deployment.ts` describes the variables CA_FILE, QUERY and ALLOW_UPGRADES. Exit
 * status: 1 if a test failed, 2 for wrong usage.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const required = ['BASE_URL', 'ACCESS_ID', 'ACCESS_KEY'] as const;
const optional = ['CA_FILE', 'QUERY', 'ALLOW_UPGRADES'] as const;
/** Maximum time of a test in ms. It is long because a search on a deployment can be slow. */
const deploymentTimeoutMs = 600_000;

const given = (name: string) => process.env[name] || undefined;

/** Returns an error message if environment variables are missing or wrong. */
function problem(): string | undefined {
  const missing = required.filter((name) => given(name) === undefined);
  if (missing.length > 0) return `give ${missing.join(' and ')} as well, or none of ${required.join(', ')}`;
  const baseURL = given('BASE_URL') ?? '';
  if (!URL.canParse(baseURL) || new URL(baseURL).protocol !== 'https:')
    return `BASE_URL is ${baseURL}: write an address such as https://host/api`;
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
  // The test files run one after the other, because the requests of all tests count towards the same rate limit of the user.
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
