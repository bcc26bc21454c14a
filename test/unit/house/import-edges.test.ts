import { describe, expect, test } from 'vitest';
import { edgeViolations } from './import-edges.ts';
import { parseSource, sourcesBelow } from './source-file.ts';

describe('the edges between the folders of src', () => {
  test('are those of the table', () => {
    expect(sourcesBelow('src').flatMap(edgeViolations)).toEqual([]);
  });

  test.each([
    ['src/base/clock.ts', `import '../api/kinds.ts';`, 'base may not import api'],
    [
      'src/policy/decide.ts',
      `import type { A } from '../host/kubernetes/a.ts';`,
      'policy may not import host/kubernetes',
    ],
    ['src/host/directory/a.ts', `export * from '../kubernetes/b.ts';`, 'host/directory may not import host/kubernetes'],
    ['src/fleet/a.ts', `const a = await import('../policy/b.ts');`, 'fleet may not import policy'],
    ['src/service/a.ts', `type A = import('../host/host.ts').Host;`, 'service may not import host'],
    ['src/simulator/a.ts', `export { b } from '../service/json.ts';`, 'simulator may not import service'],
    ['src/policy/a.ts', `import { parse } from 'yaml';`, 'policy may not import the library yaml'],
    ['src/api/a.ts', `import { V1Pod } from '@kubernetes/client-node/dist/a.js';`, '@kubernetes/client-node'],
    [
      'src/api/a.ts',
      `import '../../test/support/virtual-clock.ts';`,
      'test/support/virtual-clock.ts is no part of src',
    ],
    ['src/new/a.ts', '', 'not in the table'],
  ])('%s: %s is refused', (path, text, reason) => {
    expect(edgeViolations(parseSource(path, text))).toEqual([expect.stringContaining(reason)]);
  });

  test.each([
    ['src/main.ts', `import './simulator/server.ts'; import './cli/program.ts';`],
    ['src/policy/a.ts', `import '../host/host.ts'; import './b.ts'; import 'node:util';`],
    ['src/host/kubernetes/a.ts', `import '../host.ts'; import { request } from 'undici';`],
    ['src/base/a.ts', `// import '../api/kinds.ts';\nconst text = "import '../api/kinds.ts'";`],
  ])('%s: %s is allowed', (path, text) => {
    expect(edgeViolations(parseSource(path, text))).toEqual([]);
  });
});
