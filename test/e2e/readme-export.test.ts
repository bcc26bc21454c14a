/** The first export of the README, typed as it stands there, in an empty folder and with the simulator in place of an account. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { test as base } from './support/end-to-end.ts';

vi.setConfig({ testTimeout: 300_000 });

// biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern what a fixture needs.
const test = base.extend('folder', async ({}, { onCleanup }) => {
  const folder = mkdtempSync(join(tmpdir(), 'logfleet-readme-'));
  onCleanup(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
});

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const section = /^## A first export\n([\s\S]*?)^## /m.exec(readme)?.[1] ?? '';
const manifest = /```yaml\n([\s\S]*?)```/.exec(section)?.[1] ?? '';
const commands = [...section.matchAll(/^\$ (.+)$/gm)].map(([, line = '']) => line);

/** The words of a command line, without quotes. */
function wordsOf(line: string): readonly string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
}

test('the first export of the README works as it is typed', async ({ start, folder }) => {
  mkdirSync(join(folder, 'exports'));
  writeFileSync(join(folder, 'exports', 'errors.yaml'), manifest);
  const env: Record<string, string> = {};
  const logfleet = (line: string) => wordsOf(line).slice(2);
  const run = async (line: string) => (await start(logfleet(line), { cwd: folder, env })).ended;
  for (const line of commands) {
    const [program = '', ...words] = wordsOf(line);
    if (line.startsWith('npx logfleet simulate')) {
      // The port of the README may be taken here.
      const simulator = await start(logfleet(line.replace(':8443', ':0')), { cwd: folder });
      env['LOGFLEET_BASE_URL'] = JSON.parse(await simulator.line(/baseURL/)).baseURL;
    } else if (program === 'export') {
      for (const word of words) {
        const [name = '', value = ''] = word.split('=');
        if (name !== 'LOGFLEET_BASE_URL') env[name] = value;
      }
    } else if (program === 'mkdir') mkdirSync(join(folder, words[0] ?? ''));
    else if (!line.includes('|')) expect(await run(line), line).toMatchObject({ status: 0 });
  }
  expect(commands.some((line) => line.includes('logfleet verify'))).toBe(true);
  execFileSync('git', ['init', '-q', folder]);
  const status = execFileSync('git', ['status', '--porcelain', '-uall'], { cwd: folder, encoding: 'utf8' });
  expect(status).not.toMatch(/tls\.key|\.crt/);
});
