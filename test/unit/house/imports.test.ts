/** Tests that the rules in `.dependency-cruiser.ts` find all imports, and report each kind of forbidden import. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseSource, pathsBelow, readText } from './source-file.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const program = join(root, 'node_modules/.bin/depcruise');

interface CheckResult {
  readonly status: number | null;
  readonly stdout: string;
}

/** An import found by the check. Node.js built-in modules are named without the prefix `node:`. */
interface Dependency {
  readonly module: string;
  readonly protocol?: string;
}

/** Checks the imports in the folders `src` and `simulator` of a directory. */
function checkImports(directory: string, outputType: 'err' | 'json'): Promise<CheckResult> {
  const args = [program, '--config', join(root, '.dependency-cruiser.ts'), '--output-type', outputType];
  return new Promise((resolve) => {
    const options = { cwd: directory, maxBuffer: 100 * 2 ** 20 };
    const child = execFile(process.execPath, [...args, 'src', 'simulator'], options, (_, stdout) =>
      resolve({ status: child.exitCode, stdout }),
    );
  });
}

describe('in a directory with forbidden imports', () => {
  const allowed: readonly (readonly [file: string, text: string])[] = [
    ['src/main.ts', "import './cli/commands.ts'; import 'node:module';"],
    ['src/cli/commands.ts', "import '../../simulator/simulate.ts'; import '../policy/decide.ts';"],
    ['src/policy/decide.ts', "import './status/describe.ts'; import type { Host } from '../host/host.ts';"],
    ['src/policy/status/describe.ts', "import '../ledger/ledger.ts'; import '../../service/jobs/search-jobs.ts';"],
    ['src/service/transport/connection.ts', "import { Client } from 'undici';"],
    ['simulator/simulate.ts', "import '../src/base/clock.ts';"],
    ['simulator/test/simulate.test.ts', "import '../../src/service/client.ts'; import 'vitest';"],
  ];
  const forbidden: readonly (readonly [what: string, rule: string, file: string, text: string])[] = [
    ['another folder', 'src/base', 'src/base/import.ts', "import '../api/kinds.ts';"],
    ['a type of another folder', 'src/base', 'src/base/type.ts', "import type { Kind } from '../api/kinds.ts';"],
    ['a re-exported file', 'src/base', 'src/base/export.ts', "export { kinds } from '../api/kinds.ts';"],
    [
      'a file that is loaded later',
      'src/base',
      'src/base/load.ts',
      "export const load = () => import('../api/kinds.ts');",
    ],
    [
      'a subfolder that comes later',
      'src/policy/ledger',
      'src/policy/ledger/late.ts',
      "import '../status/describe.ts';",
    ],
    ['a subfolder beside it', 'src/destination/s3', 'src/destination/s3/beside.ts', "import '../gcs/gcs-tokens.ts';"],
    ['an implementation', 'src/controller', 'src/controller/queue.ts', "import '../host/directory/user-requests.ts';"],
    ['a test', 'src/output', 'src/output/test.ts', "import '../../test/support/clock.ts';"],
    ['a benchmark', 'src/output', 'src/output/bench.ts', "import '../../bench/main.ts';"],
    ['the demo', 'src/output', 'src/output/demo.ts', "import '../../demo/main.ts';"],
    ['the simulator', 'start of the simulator', 'src/cli/program.ts', "import '../../simulator/simulate.ts';"],
    ['code of logfleet in the simulator', 'simulator', 'simulator/client.ts', "import '../src/service/client.ts';"],
    ['a package of other folders', 'undici', 'src/fleet/package.ts', "import { Client } from 'undici';"],
    ['a module of other folders', 'node:perf_hooks', 'src/fleet/module.ts', "import 'node:perf_hooks';"],
    ['a package without a row', 'module without a row', 'src/fleet/other-package.ts', "import 'vitest';"],
    ['a module without a row', 'module without a row', 'src/fleet/other-module.ts', "import 'node:child_process';"],
    ['Node in the page', 'page', 'src/cli/ui/page/app.tsx', "import { readFile } from 'node:fs';"],
    ['a file from a new folder', 'folder without a row', 'src/new/new.ts', "import '../base/clock.ts';"],
    ['a file that imports it', 'circular import', 'src/account/one.ts', "import type { Two } from './two.ts';"],
    ['nothing, and is not imported', 'unused file', 'src/account/unused.ts', ''],
  ];
  const circle = ['src/account/two.ts', "import type { One } from './one.ts';"] as const;

  let directory: string;
  let result: CheckResult;

  function write(file: string, text: string): void {
    mkdirSync(dirname(join(directory, file)), { recursive: true });
    writeFileSync(join(directory, file), text);
  }

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'logfleet-imports-'));
    for (const name of ['undici', 'vitest']) write(`node_modules/${name}/index.js`, '');
    const files = [...allowed, ...forbidden.map(([, , file, text]) => [file, text] as const), circle];
    for (const [file, text] of files) {
      for (const [, imported = ''] of text.matchAll(/'(\.[^']+)'/g)) write(join(dirname(file), imported), '');
    }
    for (const [file, text] of files) write(file, text);
    result = await checkImports(directory, 'err');
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  test('the check fails', () => {
    expect(result.status).not.toBe(0);
  });

  test.each(forbidden)('the check reports a file that imports %s', (_, rule, file) => {
    expect(result.stdout).toContain(`error ${rule}: ${file}`);
  });

  test('the check reports no other files, except as unused', () => {
    const violations = [...result.stdout.matchAll(/^ {2}error (.+?): (\S+)/gm)];
    const reported = violations.filter(([, rule]) => rule !== 'unused file').map(([, , file]) => file);
    const expected = forbidden.filter(([, rule]) => rule !== 'unused file').map(([, , file]) => file);
    expect([...new Set(reported)].sort()).toEqual(expected.sort());
  });
});

// Tests only `import()`, which can be anywhere in a file, even in a type. The check always finds imports at the start
// of a file.
test('the check finds each import() of src and of the simulator', async () => {
  const { modules } = JSON.parse((await checkImports(root, 'json')).stdout) as {
    readonly modules: readonly { readonly source: string; readonly dependencies: readonly Dependency[] }[];
  };
  const found = new Set(
    modules.flatMap(({ source, dependencies }) =>
      dependencies.map(({ module, protocol = '' }) => `${source}: ${protocol}${module}`),
    ),
  );
  const files = ['src', 'simulator']
    .flatMap((folder) => [...pathsBelow(folder, '.ts'), ...pathsBelow(folder, '.tsx')])
    .map((path) => ({ path, text: readText(path) }))
    .filter(({ text }) => text.includes('import('));
  const imports = files.flatMap(({ path, text }) =>
    parseSource(path, text).imports.map(({ specifier }) => `${path}: ${specifier}`),
  );
  expect(files.length).toBeGreaterThan(5);
  expect(imports.filter((each) => !found.has(each))).toEqual([]);
});
