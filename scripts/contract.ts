/**
 * `make contract`: tests whether a service behaves as docs/service.md describes. The tests are in `test/contract/`.
 * They test the simulator or, if BASE_URL, ACCESS_ID and ACCESS_KEY are set, a deployment of the service. Exit status:
 * 1 if a test fails, 2 for incorrect usage.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const required = ['BASE_URL', 'ACCESS_ID', 'ACCESS_KEY'] as const;
const optional = ['CA_FILE', 'QUERY', 'ALLOW_UPGRADES'] as const;
/** Time limit for each test, in ms. It is long because searches on a real service can take minutes. */
const deploymentTimeoutMs = 600_000;

const given = (name: string) => process.env[name] || undefined;

/** Returns an error message if environment variables are missing or invalid. */
function problem(): string | undefined {
  const missing = required.filter((name) => given(name) === undefined);
  if (missing.length > 0) return `set ${missing.join(' and ')} as well, or set none of ${required.join(', ')}`;
  const baseURL = given('BASE_URL') ?? '';
  if (!URL.canParse(baseURL) || new URL(baseURL).protocol !== 'https:')
    return `BASE_URL is ${baseURL}: set it to an address such as https://host/api`;
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
  // All tests share the request limit of one user, so the test files run one at a time.
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
