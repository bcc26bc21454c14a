import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const main = fileURLToPath(new URL('../main.ts', import.meta.url));

function start(...args: readonly string[]) {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  return { child, stdout: child.stdout, stderr: text(child.stderr), ended: once(child, 'exit') };
}

test('the standalone program prints its address and ends with status 0 on SIGTERM', async () => {
  const { child, stdout, ended } = start('--collectors', '2');
  const [line] = await once(stdout, 'data');
  expect(JSON.parse(String(line))).toMatchObject({ baseURL: expect.stringContaining('https://127.0.0.1:') });
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});

test.each([
  [['--collectors', 'many'], 'Use a whole number'],
  [['--scenario', 'no-such-file.yaml'], 'simulator: cannot read the scenario no-such-file.yaml'],
])('the standalone program refuses %j with status 2', async (args, message) => {
  const { stderr, ended } = start(...args);
  expect(await stderr).toContain(message);
  expect(await ended).toEqual([2, null]);
});
