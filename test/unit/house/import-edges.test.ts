import { describe, expect, test } from 'vitest';
import { edgeViolations } from './import-edges.ts';
import { parseSource, simulatorSources, sourcesBelow } from './source-file.ts';

describe('imports between the folders of src and simulator', () => {
  test('are those of the table', () => {
    expect([...sourcesBelow('src'), ...simulatorSources()].flatMap(edgeViolations)).toEqual([]);
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
    ['simulator/a.ts', `export { b } from '../src/service/json.ts';`, 'simulator may not import service'],
    ['src/cli/run/run.ts', `import '../../simulator/server.ts';`, 'only src/cli/simulate.ts may import simulator'],
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
    ['src/main.ts', `import './service/client.ts'; import './cli/program.ts';`],
    ['src/cli/simulate.ts', `import '../../simulator/server.ts';`],
    ['simulator/search/a.ts', `import '../query/row.ts'; import '../../src/base/assert.ts'; import 're2js';`],
    ['src/policy/a.ts', `import '../host/host.ts'; import './b.ts'; import 'node:util';`],
    ['src/host/kubernetes/a.ts', `import '../host.ts'; import { request } from 'undici';`],
    ['src/base/a.ts', `// import '../api/kinds.ts';\nconst text = "import '../api/kinds.ts'";`],
  ])('%s: %s is allowed', (path, text) => {
    expect(edgeViolations(parseSource(path, text))).toEqual([]);
  });
});
