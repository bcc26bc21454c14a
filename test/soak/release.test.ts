/** Builds all release files twice, in different folders, and compares them. */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { sha256 } from '../../scripts/release/provenance.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

// Time limit in ms that only a hanging test exceeds.
vi.setConfig({ testTimeout: 1_800_000, hookTimeout: 600_000 });

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'logfleet-release-'));
  cpSync(join(root, 'node_modules'), join(directory, 'node_modules'), { recursive: true, verbatimSymlinks: true });
});
afterEach(() => rmSync(directory, { recursive: true }));

/** Builds the release of a new version in a clone of the checkout. Returns the folder that contains its files. */
async function release(folder: string): Promise<string> {
  const checkout = join(directory, folder);
  await run('git', ['clone', '--quiet', root, checkout]);
  renameSync(join(directory, 'node_modules'), join(checkout, 'node_modules'));
  const version = '9.8.7';
  const inCheckout = { cwd: checkout };
  await run('npm', ['version', version, '--no-git-tag-version', '--loglevel=error'], inCheckout);
  await run(process.execPath, ['scripts/generate.ts'], inCheckout);
  cpSync(join(checkout, 'test/recorded/release-0.1'), join(checkout, 'test/recorded/release-9.8'), { recursive: true });
  const changelog = join(checkout, 'CHANGELOG.md');
  const released = readFileSync(changelog, 'utf8').replace('## [Unreleased]', `$&\n\n## [${version}] - 2026-01-31`);
  writeFileSync(changelog, released);
  await run('git', ['add', '--all'], inCheckout);
  const date = '2026-01-31T00:00:00Z';
  const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com'];
  await run('git', [...identity, 'commit', '--quiet', '--message', `docs: release ${version}`], {
    cwd: checkout,
    env: { ...process.env, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date },
  });
  const args = [join(checkout, 'scripts/release.ts'), version, 'https://example.com/releases'];
  const { stdout } = await run(process.execPath, args, { cwd: checkout });
  renameSync(join(checkout, 'node_modules'), join(directory, 'node_modules'));
  expect(stdout).toContain('Nothing is published yet');
  return join(checkout, 'out');
}

test('two releases of a commit differ only in the time of their provenance', async () => {
  const [first, second] = [await release('first'), await release('below/second')];
  const names = readdirSync(first);
  expect(names).toEqual([
    'SHA256SUMS',
    ...['-chart.tgz', '-darwin-arm64.tar.gz', '-image-layer.tar.gz', '-linux-arm64.tar.gz', '-linux-x64.tar.gz'].map(
      (end) => `logfleet-9.8.7${end}`,
    ),
    ...['.cdx.json', '.intoto.json', '.tgz'].map((end) => `logfleet-9.8.7${end}`),
    'logfleet.yaml',
  ]);
  const listed = readFileSync(join(first, 'SHA256SUMS'), 'utf8').trimEnd().split('\n');
  expect(listed.map((line) => line.split('  ')[1])).toEqual(names.slice(1));
  const { stdout: metadata } = await run('tar', [
    '-xzOf',
    join(first, 'logfleet-9.8.7-chart.tgz'),
    'logfleet/Chart.yaml',
  ]);
  expect(parse(metadata)).toMatchObject({ version: '9.8.7', appVersion: '9.8.7' });
  expect(readdirSync(second)).toEqual(names);
  const different = names.filter((name) => sha256(join(first, name)) !== sha256(join(second, name)));
  expect(different).toEqual(['SHA256SUMS', expect.stringMatching(/\.intoto\.json$/)]);
});
