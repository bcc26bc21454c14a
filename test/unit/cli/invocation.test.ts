import { describe, expect, it } from 'vitest';
import { invocation, programName } from '../../../src/cli/command/invocation.ts';
import { inPackage } from '../../../src/cli/command/package-folder.ts';

const checkout = inPackage('');

describe('hints repeat the command with which the user has started the program', () => {
  it.each([
    ['/usr/local/bin/logfleet', '/home/ann', undefined, 'logfleet'],
    ['/home/ann/.krew/bin/kubectl-logfleet', '/home/ann', undefined, 'kubectl logfleet'],
    [inPackage('bin/logfleet.js'), checkout, undefined, 'node bin/logfleet.js'],
    [inPackage('bin/logfleet.js'), inPackage('docs'), undefined, 'node ../bin/logfleet.js'],
    // If Node.js is too old, the start script runs `src/main.ts` with a newer version of Node.js.
    [inPackage('src/main.ts'), checkout, undefined, 'node bin/logfleet.js'],
    ['/root/.npm/_npx/8fc0a818/node_modules/.bin/logfleet', checkout, checkout, 'npx logfleet'],
    ['/root/.npm/_npx/8fc0a818/node_modules/.bin/logfleet', inPackage('docs'), checkout, 'npx logfleet'],
    [
      '/root/.npm/_npx/8fc0a818/node_modules/.bin/logfleet',
      '/home/ann',
      '/srv/my fleet',
      "npx --prefix '/srv/my fleet' logfleet",
    ],
    ['/home/ann/node_modules/.bin/logfleet', '/home/ann', undefined, 'npx logfleet'],
  ])('%s in %s', (started, cwd, npmPrefix, name) => {
    expect(programName({ started, cwd, npmPrefix })).toBe(name);
  });

  it('before the words of a command', () => {
    expect(invocation('get cvp')).toBe('logfleet get cvp');
  });
});
