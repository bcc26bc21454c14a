/** Tests how `make release` checks the checkout, pins base images and describes its files. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { filesBelow } from '../../../scripts/release/archive.ts';
import { baseImages, newestDigest, withDigests } from '../../../scripts/release/base-images.ts';
import { renderLicenses } from '../../../scripts/release/bundled-packages.ts';
import { renderKrewManifest } from '../../../scripts/release/krew-manifest.ts';
import { assertIntegrity, runtimes } from '../../../scripts/release/node-runtime.ts';
import { renderProvenance, sha256 } from '../../../scripts/release/provenance.ts';
import { argumentProblem, releaseProblems } from '../../../scripts/release/readiness.ts';
import { sourceTime } from '../../../scripts/release/source-time.ts';
import { hasVersion, versionedFiles, withVersion } from '../../../scripts/release/versions.ts';
import { readText } from '../house/source-file.ts';

const root = join(import.meta.dirname, '../../..');
const digest = `sha256:${'a1'.repeat(32)}`;
const otherDigest = `sha256:${'b2'.repeat(32)}`;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'logfleet-release-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

function file(name: string, content: string): string {
  writeFileSync(join(directory, name), content);
  return join(directory, name);
}

describe('a checkout can be released', () => {
  const ready = {
    packageVersion: '1.2.3',
    lockVersion: '1.2.3',
    versioned: new Map([['Chart.yaml', 'version: 1.2.3\nappVersion: 1.2.3\n']]),
    commit: 'c0ffee',
    taggedCommit: undefined,
    recordedStates: ['record.ts', 'release-1.2'],
    changes: '',
    changelog: '# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-11-23\n',
    dockerfile: `FROM node:24@${digest} AS package\n`,
  };

  test('with a version, a section of the changelog, digests, and no changes', () => {
    expect(releaseProblems('1.2.3', ready)).toEqual([]);
  });

  test.each([
    ['another version in package.json', { packageVersion: '1.2.2' }, 'package.json has version 1.2.2'],
    ['another version in package-lock.json', { lockVersion: '1.2.2' }, 'package-lock.json has version 1.2.2'],
    [
      'another version in the chart',
      { versioned: new Map([['a', 'appVersion: 1.2.2\n']]) },
      'a contains another version',
    ],
    ['a tag at another commit', { taggedCommit: 'beef' }, 'the tag v1.2.3 is at another commit (beef)'],
    ['no recorded state', { recordedStates: ['release-1.1'] }, 'no state of version 1.2'],
    ['changes', { changes: ' M README.md\n' }, 'uncommitted changes'],
    ['no section of the changelog', { changelog: '## [Unreleased]\n' }, 'CHANGELOG.md has no section'],
    ['a base image without a digest', { dockerfile: 'FROM node:24\n' }, 'node:24 without a digest'],
  ])('but not with %s', (_, difference, problem) => {
    expect(releaseProblems('1.2.3', { ...ready, ...difference })).toEqual([expect.stringContaining(problem)]);
  });

  test('a tag at the released commit is not a problem, so that anyone can repeat a release', () => {
    expect(releaseProblems('1.2.3', { ...ready, taggedCommit: ready.commit })).toEqual([]);
  });
});

test.each([
  ['1.2.3', 'https://example.com/v1', undefined],
  ['1.2.3-rc.1', 'https://example.com/v1', undefined],
  ['1.2', 'https://example.com', 'VERSION'],
  ['1.2.3+build', 'https://example.com', 'VERSION'],
  ['1.2.3 ', 'https://example.com', 'VERSION'],
  ['1.2.3', 'http://example.com', 'https://'],
  ['1.2.3', 'release:', 'https://'],
  ['1.2.3', 'https://me:secret@example.com', 'must not contain a user'],
  ['1.2.3', 'https://example.com/?token=secret', 'query'],
])('make release VERSION=%s URL=%s: the problem of the arguments is %s', (version, url, problem) => {
  const found = argumentProblem(version, url);
  if (problem === undefined) expect(found).toBeUndefined();
  else expect(found).toContain(problem);
  expect(found ?? '').not.toContain('secret');
});

describe('the version of logfleet', () => {
  test.each([
    ['an image', 'image: registry.example.com/logfleet:0.1.0', 'image: registry.example.com/logfleet:1.2.3-rc.1'],
    ['an archive', 'logfleet-0.1.0-linux-x64.tar.gz', 'logfleet-1.2.3-rc.1-linux-x64.tar.gz'],
    ['a label', 'app.kubernetes.io/version: 0.1.0-beta.2', 'app.kubernetes.io/version: 1.2.3-rc.1'],
    ['a chart', 'version: 0.1.0\nappVersion: 0.1.0', 'version: 1.2.3-rc.1\nappVersion: 1.2.3-rc.1'],
    ['a kustomization', 'newName: a/logfleet, newTag: 0.1.0', 'newName: a/logfleet, newTag: 1.2.3-rc.1'],
    ['an output', 'operator 0.1.0 in namespace logfleet', 'operator 1.2.3-rc.1 in namespace logfleet'],
  ])('is replaced in %s', (_, before, after) => {
    expect(withVersion(before, '1.2.3-rc.1')).toBe(after);
  });

  test('is in no other file of the chart, the manifests and the documentation', () => {
    const found = [
      'Dockerfile',
      'README.md',
      ...['charts', 'manifests', 'docs'].flatMap((folder) =>
        filesBelow(join(root, folder)).map((path) => `${folder}/${path}`),
      ),
    ]
      .filter((path) => /(?:^Dockerfile|\.(?:md|ya?ml|tpl|txt|json))$/.test(path))
      .filter((path) => hasVersion(readText(path)));
    expect(found.sort()).toEqual([...versionedFiles].sort());
  });
});

test('the Dockerfile names a digest for each base image, and builds with the Node of the tests', () => {
  const images = baseImages(readText('Dockerfile'));
  expect(images.map((image) => image.digest?.length)).toEqual([71, 71]);
  const { devDependencies } = JSON.parse(readText('package.json'));
  const [, major] = /^\D*(\d+)\./.exec(devDependencies.node) ?? [];
  expect(images[0]?.name).toMatch(new RegExp(`^node:${major}-`));
});

describe('base images', () => {
  const dockerfile = `FROM --platform=$BUILDPLATFORM node:24 AS package\nFROM gcr.io/distroless/nodejs24-debian13:nonroot@${digest}\n`;

  test('get their digests in the Dockerfile, and nothing else changes', () => {
    const pinned = withDigests(dockerfile, new Map(baseImages(dockerfile).map(({ name }) => [name, otherDigest])));
    expect(pinned).toBe(
      `FROM --platform=$BUILDPLATFORM node:24@${otherDigest} AS package\nFROM gcr.io/distroless/nodejs24-debian13:nonroot@${otherDigest}\n`,
    );
  });

  describe('in a registry', () => {
    let server: Server;
    let status: number;

    beforeEach(async () => {
      status = 200;
      server = createServer(({ url, method, headers }, response) => {
        if (url?.startsWith('/token?')) {
          response.end(JSON.stringify({ token: new URL(url, address()).searchParams.get('scope') }));
        } else if (headers.authorization !== 'Bearer repository:team/node:pull') {
          const challenge = `Bearer realm="${address()}/token",service="registry",scope="repository:team/node:pull"`;
          response.writeHead(401, { 'www-authenticate': challenge }).end();
        } else {
          const isKnown = method === 'HEAD' && url === '/v2/team/node/manifests/24';
          response.writeHead(isKnown ? status : 404, { 'docker-content-digest': digest }).end();
        }
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
    });
    afterEach(() => server.close());

    const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const image = () => `${address().replace('http://', '')}/team/node:24`;

    test('are looked up with a token for anonymous users', async () => {
      expect(await newestDigest(image(), 'http')).toBe(digest);
    });

    test('are an error if the registry does not return a digest', async () => {
      status = 429;
      await expect(newestDigest(image(), 'http')).rejects.toThrow('responded with status 429');
    });
  });
});

test('the manifest for krew names the program in each tarball, and its checksum', () => {
  const tarballs = new Map([
    ['linux-x64', file('a.tar.gz', 'a')],
    ['darwin-arm64', file('b.tar.gz', 'b')],
  ] as const);
  const { metadata, spec } = parse(renderKrewManifest(tarballs, 'https://example.com/v1'));
  expect(metadata).toEqual({ name: 'logfleet' });
  const { version } = JSON.parse(readText('package.json'));
  expect(spec.version).toBe(`v${version}`);
  expect(spec.platforms).toEqual([
    {
      selector: { matchLabels: { os: 'linux', arch: 'amd64' } },
      uri: 'https://example.com/v1/a.tar.gz',
      sha256: sha256(join(directory, 'a.tar.gz')),
      bin: `logfleet-${version}-linux-x64/bin/kubectl-logfleet`,
    },
    expect.objectContaining({ selector: { matchLabels: { os: 'darwin', arch: 'arm64' } } }),
  ]);
});

test('the provenance names the files, the commit, the command and each Node', () => {
  const build = {
    commit: 'c0ffee',
    command: 'make release',
    startedOn: new Date(0),
    runtimes: Object.values(runtimes),
  };
  const { subject, predicate } = JSON.parse(renderProvenance([file('a.tgz', 'a')], build));
  expect(subject).toEqual([{ name: 'a.tgz', digest: { sha256: sha256(join(directory, 'a.tgz')) } }]);
  expect(predicate.buildDefinition.externalParameters).toEqual({ command: 'make release' });
  const [commit, lock, ...nodes] = predicate.buildDefinition.resolvedDependencies;
  expect(commit).toEqual({ name: 'logfleet', digest: { gitCommit: 'c0ffee' } });
  expect(lock.name).toBe('package-lock.json');
  expect(nodes.map(({ digest: { sha512 } }: { digest: { sha512: string } }) => sha512.length)).toEqual([128, 128, 128]);
});

test('the Node of the tarballs for Linux is the Node that the tests use', () => {
  const { version } = JSON.parse(readText('node_modules/node/package.json'));
  expect([runtimes['linux-x64'].version, runtimes['linux-arm64'].version]).toEqual([version, version]);
});

test('a downloaded Node with a wrong checksum is refused', async () => {
  const empty = 'sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==';
  await assertIntegrity(file('empty', ''), empty);
  await expect(assertIntegrity(file('other', 'x'), empty)).rejects.toThrow('The checksum of');
});

test('the time of the sources is SOURCE_DATE_EPOCH, or else that of the commit', () => {
  expect(sourceTime({ SOURCE_DATE_EPOCH: '86400' })).toEqual(new Date('1970-01-02'));
  expect(sourceTime({}).getTime()).toBeGreaterThan(Date.parse('2025-01-01'));
  expect(() => sourceTime({ SOURCE_DATE_EPOCH: 'today' })).toThrow('SOURCE_DATE_EPOCH is today');
});

test('the licenses of packages name a package that has no text of its license', () => {
  const packages = [
    { name: 'one', version: '1.0.0', license: 'MIT', texts: ['Copyright one'] },
    { name: 'two', version: '2.0.0', license: 'Apache-2.0', texts: [] },
  ];
  expect(renderLicenses(packages)).toMatch(
    /one 1\.0\.0 \(MIT\)\n=+\n\nCopyright one\n[\s\S]*two 2\.0\.0 \(Apache-2\.0\)\n=+\n\n.*does not contain the license text/,
  );
});
