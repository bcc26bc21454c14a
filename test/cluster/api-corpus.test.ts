/** The corpus of manifests, on a real API server: it takes the good ones and refuses the bad ones, as `validate` does. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { applyDefaults } from '../../src/api/defaults.ts';
import { parseManifestFile } from '../../src/api/manifest-file.ts';
import { readCorpus } from '../corpus/corpus.ts';
import { type ApiAnswer, controlPlane, createNamespace } from '../support/control-plane.ts';

let namespace: string;
let agent: Agent;

beforeAll(async () => {
  namespace = await createNamespace('corpus');
  agent = new Agent({ connect: { ca: readFileSync(controlPlane().caFile) } });
});
afterAll(() => agent.close());

/** As `kubectl create` would, but for the text, which goes to the server as it stands in the file. */
async function create(text: string): Promise<ApiAnswer> {
  const { server, adminToken } = controlPlane();
  const path = `/apis/logfleet.dev/v1alpha1/namespaces/${namespace}/collectorversionpolicies`;
  const answer = await request(`${server}${path}?dryRun=All&fieldValidation=Strict`, {
    method: 'POST',
    dispatcher: agent,
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/yaml', accept: 'application/json' },
    body: firstDocument(text),
  });
  return { status: answer.statusCode, body: await answer.body.json() };
}

/** A request carries one resource; the further documents of a file are there for `validate`. */
function firstDocument(text: string): string {
  return text.split(/^---$/m)[0] ?? '';
}

describe('good manifests of the corpus', () => {
  test.each(readCorpus('good'))('$file is taken, with the defaults that we fill in', async ({ text }) => {
    const { status, body } = await create(text);
    expect({ status, message: body.message }).toEqual({ status: 201, message: undefined });
    const [document] = parseManifestFile(text).documents;
    const ours = applyDefaults('CollectorVersionPolicy', document?.value as { readonly spec: unknown });
    expect(body.spec).toEqual(ours.spec);
  });
});

describe('bad manifests of the corpus', () => {
  const manifests = readCorpus('bad');

  test.each(manifests.filter(({ apiServer }) => apiServer.refuses))('$file is refused', async ({ text, apiServer }) => {
    const { status, body } = await create(text);
    expect([400, 404, 422]).toContain(status);
    expect(body.message).toContain(apiServer.says);
  });

  test.each(manifests.filter(({ apiServer }) => !apiServer.refuses))(
    '$file is taken, and only validate can say',
    async ({ text }) => {
      expect(await create(text)).toMatchObject({ status: 201 });
    },
  );
});
