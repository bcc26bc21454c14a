/** Tests the page of `logfleet ui` in Chromium. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import '../support/chromium-setup.ts';
import type { AnyResource } from '../../src/api/kinds.ts';
import { type OpenPage, openPage, type ShownPage, showPage, startBrowser } from '../support/shown-page.ts';
import { conditionsOf, exampleResources, manyRuns, shownResource } from '../support/shown-resources.ts';

let browser: Browser;
let shown: ShownPage;

beforeAll(async () => {
  browser = await startBrowser(inject('chromium'));
  shown = await showPage(examples());
});
afterAll(async () => {
  await browser?.close();
  await shown?.stop();
});

function examples(): readonly AnyResource[] {
  return exampleResources(Date.now());
}

function isEdge({ metadata }: AnyResource): boolean {
  return metadata.name === 'edge';
}

/** Returns the policy `edge` after its rollout. */
function upgradedEdge(): AnyResource {
  const conditions = conditionsOf('Ready', 'AllUpdated', 'All collectors are upgraded.', Date.now());
  const status = { summary: { updated: '320/320', state: 'AllUpdated' }, conditions };
  return shownResource({ kind: 'CollectorVersionPolicy', name: 'edge', namespace: 'network', status });
}

/** Returns the example resources, with the policy `edge` after its rollout. */
function examplesAfterRollout(): readonly AnyResource[] {
  return [...examples().filter((each) => !isEdge(each)), upgradedEdge()];
}

const idOf: Readonly<Record<string, string>> = {
  'the list': '',
  'a policy in a soak': 'cvp/logging/production',
  'a stopped rollout': 'cvp/payments/payments',
  'a policy that waits for approval': 'cvp/network/edge',
  'a running export': 'sx/audit/october-audit',
  'an incomplete export': 'sx/security/incident-4711',
  'a complete export': 'sx/audit/september-audit',
  'a schedule with gaps': 'sxs/web/access-log',
  'a schedule with backfill': 'sxs/web/clickstream',
};

const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe);
  const { violations: found } = await page.evaluate<AxeResult>('axe.run()');
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

interface AxeResult {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
}

describe.each([
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['narrow', { width: 380, height: 780, colorScheme: 'dark' }],
] as const)('in a %s window', (_, screen) => {
  let opened: OpenPage;
  beforeAll(async () => {
    opened = await openPage(browser, shown.url, '', screen);
  });
  afterAll(() => opened.page.context().close());

  test.each(Object.keys(idOf))(
    '%s has no error, no accessibility violation, and no horizontal scroll bar',
    async (what) => {
      const { page, errors, origins } = opened;
      const id = idOf[what] ?? '';
      await page.goto(`${shown.url}#${id}`);
      if (id !== '') await page.locator('article h2', { hasText: id.split('/')[2] ?? '' }).waitFor();
      expect(await violations(page)).toEqual([]);
      expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
      expect(errors).toEqual([]);
      expect([...origins]).toEqual([new URL(shown.url).origin]);
    },
  );
});

describe('the details', () => {
  test('of a policy show stages, soak clock, versions and failures by reason', async () => {
    const { page } = await openPage(browser, shown.url, 'cvp/logging/production');
    const texts = await page.locator('article').innerText();
    for (const text of ['19.253-26 1,104', 'No space left on device', 'web-117, web-203'])
      expect(texts).toContain(text);
    expect(texts).toMatch(/Soaking, \d/);
    expect(await page.getByRole('progressbar', { name: 'Soak of stage linux' }).getAttribute('value')).not.toBeNull();
    expect(await page.getByRole('img', { name: '618 updated, 1291 pending, 3 failed' }).count()).toBe(2);
    await page.context().close();
  });

  test('of an export show coverage, rows over time and proof', async () => {
    const { page } = await openPage(browser, shown.url, 'sx/audit/september-audit');
    const texts = await page.locator('article').innerText();
    for (const text of ['3,104,212', 'Digest', '9f2c77ab', 'every interval is proven']) expect(texts).toContain(text);
    expect(await page.getByRole('img', { name: '100% of the export done' }).count()).toBe(1);
    expect(await page.locator('.histogram > span').count()).toBe(60);
    await page.context().close();
  });

  test('of a stage show upgrades in progress separately from waiting collectors', async () => {
    const stage = { name: 'canary', members: 10, updated: 4, inProgress: 3, failed: 1, state: 'Progressing' as const };
    const status = { stages: [stage] };
    const own = await showPage([shownResource({ kind: 'CollectorVersionPolicy', name: 'rolling', status })]);
    const { page } = await openPage(browser, own.url, 'cvp/logging/rolling');
    const bar = page.getByRole('img', { name: '4 updated, 3 in progress, 1 failed, 2 not updated' });
    expect(await bar.locator('span').count()).toBe(4);
    expect(await page.locator('.stage-counts').innerText()).toBe('4/10, 3 in progress, 1 failed');
    await page.context().close();
    await own.stop();
  });

  test('of an export in a Kubernetes Job show what blocks a worker', async () => {
    const obstacle = {
      reason: 'DestinationFull',
      message: 'no space left in audit',
      startTime: new Date().toISOString(),
    };
    const status = { kubernetesJob: { name: 'run' }, workers: [{ index: 1, job: 'run', obstacle }] };
    const own = await showPage([shownResource({ kind: 'SearchExport', name: 'stuck', status })]);
    const { page } = await openPage(browser, own.url, 'sx/logging/stuck');
    const row = page.locator('.table tr', { hasText: 'no space left' });
    expect(await row.innerText()).toMatch(/^1\s+DestinationFull: no space left in audit\s+[\dms]+ ago$/);
    await page.context().close();
    await own.stop();
  });

  test('of a schedule show gaps, lag and runs that lead to their exports', async () => {
    const { page } = await openPage(browser, shown.url, 'sxs/web/access-log');
    expect(await page.getByRole('img', { name: '3 ranges, 2 gaps, 1 running' }).count()).toBe(1);
    expect(await page.locator('.figures').innerText()).toMatch(/Lag\s+3[12]h/);
    await page
      .getByRole('link', { name: /^access-log-\d/ })
      .first()
      .click();
    await page.waitForURL(/#sx\/web\/access-log-/);
    await page.context().close();
  });

  test('of a schedule show which runs are not proven complete', async () => {
    const times = { from: '2026-11-22T12:00:00Z', to: '2026-11-22T13:00:00Z' };
    const status = {
      ...{ startTime: times.from, covered: [times] },
      runs: [{ ...times, name: 'hourly-1', state: 'Complete' as const, incomplete: true }],
    };
    const own = await showPage([shownResource({ kind: 'SearchExportSchedule', name: 'hourly', status })]);
    const { page } = await openPage(browser, own.url, 'sxs/logging/hourly');
    expect(await page.getByRole('row', { name: 'hourly-1' }).innerText()).toContain('Complete, not proven');
    expect(await page.getByTitle('not proven').count()).toBe(1);
    await page.context().close();
    await own.stop();
  });

  test('offer the command that the resource is waiting for, for copying', async () => {
    const { page } = await openPage(browser, shown.url, 'cvp/network/edge');
    await keepFeedback(page);
    await page.getByRole('button', { name: 'Copy the command: Approve the stage' }).click();
    await page.getByText('Copied').first().waitFor();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(
      'logfleet approve cvp/edge --context production -n network --stage rest',
    );
    await page.context().close();
  });
});

/** Stops the timers of the page. Otherwise, its feedback would disappear after 2 s, maybe before the test sees it. */
async function keepFeedback(page: Page): Promise<void> {
  await page.evaluate('setTimeout = () => 0');
}

test('a browser that does not allow copying shows a message', async () => {
  const { page, errors } = await openPage(browser, shown.url, 'cvp/network/edge');
  await keepFeedback(page);
  await page.evaluate('navigator.clipboard.writeText = () => Promise.reject(new Error("denied"))');
  await page.getByRole('button', { name: 'Copy the command: Approve the stage' }).click();
  await page.getByText('Not allowed').first().waitFor();
  expect(errors).toEqual([]);
  await page.context().close();
});

describe('a change', () => {
  test('of a status appears without a reload, in the list and in the details', async () => {
    const own = await showPage(examples());
    const { page } = await openPage(browser, own.url, 'cvp/network/edge');
    own.reader.replace(examplesAfterRollout());
    await page.locator('article').getByText('All collectors are upgraded.').first().waitFor();
    await page.locator('.row', { hasText: 'edge' }).locator('.figure', { hasText: '320/320' }).waitFor();
    // The page sets its title only after it has drawn the details.
    await expect.poll(() => page.title()).toBe('edge: AllUpdated – logfleet');
    expect(await page.getByRole('status').allInnerTexts()).toContain('edge: AllUpdated');
    await page.context().close();
    await own.stop();
  });

  test('that deletes the resource being shown is reported', async () => {
    const own = await showPage(examples());
    const { page } = await openPage(browser, own.url, 'cvp/network/edge');
    own.reader.replace(examples().filter((each) => !isEdge(each)));
    await page.getByText('cvp/network/edge does not exist any more.').waitFor();
    await page.context().close();
    await own.stop();
  });

  test('that moves the focused resource to another row also moves the focus', async () => {
    const own = await showPage(examples());
    const { page } = await openPage(browser, own.url);
    const before = await page.locator('.row a', { hasText: 'edge' }).getAttribute('data-index');
    await page.locator('.row a', { hasText: 'edge' }).focus();
    own.reader.replace(examplesAfterRollout());
    await page.locator('.row a:focus', { hasText: '320/320' }).waitFor();
    expect(await page.locator('.row a:focus').getAttribute('data-index')).not.toBe(before);
    await page.context().close();
    await own.stop();
  });

  test('that removes the focused row leaves another row that can be reached with Tab', async () => {
    const own = await showPage(examples());
    const { page } = await openPage(browser, own.url);
    await page.locator('.row a').last().focus();
    own.reader.replace(examples().slice(0, 3));
    await page.locator('.row[aria-setsize="3"]').first().waitFor();
    expect(await page.locator('.row a[tabindex="0"]').count()).toBe(1);
    await page.context().close();
    await own.stop();
  });

  test('does not appear after the command has ended, and the page reports the lost connection', async () => {
    const own = await showPage(examples());
    const { page } = await openPage(browser, own.url);
    await page.getByText('Live', { exact: true }).waitFor();
    await own.stop();
    await page.getByText('The connection to logfleet ui is lost').waitFor();
    await page.context().close();
  });
});

describe('a silent connection', () => {
  test('counts as lost after 40 s, and is replaced', async () => {
    const { page } = await openPage(browser, shown.url);
    await page.clock.install();
    await page.reload();
    await page.getByText('Live', { exact: true }).waitFor();
    // From now on, new connections of the page get no response.
    await page.route('**/api/changes', () => {});
    // Each message on the open connection restarts the timeout of 40 s, so the clock is advanced repeatedly.
    const lost = page.getByText('The connection to logfleet ui is lost');
    const isLost = () => page.clock.fastForward(40_000).then(() => lost.isVisible());
    await expect.poll(isLost).toBe(true);
    await page.unrouteAll();
    await page.clock.fastForward(5_000);
    await page.getByText('Live', { exact: true }).waitFor();
    await page.context().close();
  });
});

describe('a list of ten thousand resources', () => {
  let many: ShownPage;
  beforeAll(async () => {
    many = await showPage([...examples(), ...manyRuns(10_000, Date.now())]);
  });
  afterAll(() => many.stop());

  test('has only the rows in view, and reads others when it is scrolled', async () => {
    const { page } = await openPage(browser, many.url);
    expect(await page.locator('.row').count()).toBeLessThan(40);
    await page.locator('.scroller').evaluate((scroller) => scroller.scrollTo({ top: scroller.scrollHeight / 2 }));
    await page.locator('.row[aria-posinset="5010"] a[href]').waitFor();
    expect(await page.locator('.row').count()).toBeLessThan(40);
    expect(await page.locator('.row').first().getAttribute('aria-setsize')).toBe('10010');
    await page.context().close();
  });

  test('shows its first rows without another request', async () => {
    const { page } = await openPage(browser, many.url);
    await page.route('**/api/list*', (route) => route.abort());
    await page.reload();
    await page.locator('.row a', { hasText: 'incident-4711' }).waitFor();
    await page.context().close();
  });

  test('shows no rows of the previous filter if it had the same number of results', async () => {
    const { page } = await openPage(browser, many.url);
    for (const team of ['team-1', 'team-2']) {
      await page.getByRole('searchbox').fill(`${team}/`);
      await page.locator('.row[aria-posinset="1"][aria-setsize="250"] a', { hasText: `${team}/` }).waitFor();
      await page.locator('.scroller').evaluate((scroller) => scroller.scrollTo({ top: scroller.scrollHeight * 0.8 }));
      expect(await page.locator('.row[aria-posinset="203"] a[href]').innerText()).toContain(`${team}/`);
    }
    await page.context().close();
  });

  test('moves the focus to a row that is still being loaded, so that the next key works', async () => {
    const { page } = await openPage(browser, many.url);
    await page.locator('.row a').first().focus();
    await page.route('**/api/list*', (route) => route.abort());
    await page.keyboard.press('End');
    await page.keyboard.press('ArrowUp');
    await page.locator('.row[aria-posinset="10009"] a:focus').waitFor();
    await page.context().close();
  });

  test('keeps rows as links while the list is refreshed, so that Enter works', async () => {
    const runs = manyRuns(10_000, Date.now());
    const own = await showPage([...examples(), ...runs]);
    const { page } = await openPage(browser, own.url, 'cvp/network/edge');
    const requests = Array.from({ length: 2 }, () => Promise.withResolvers<Route>());
    let count = 0;
    await page.route('**/api/list*', (route) => requests[count++]?.resolve(route));
    await page.locator('.row a').first().focus();
    await page.keyboard.press('End');
    const forLastRows = await requests[0]?.promise;
    own.reader.replace([...examplesAfterRollout(), ...runs]);
    await page.locator('article').getByText('All collectors are upgraded.').first().waitFor();
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowDown');
    await forLastRows?.continue();
    await requests[1]?.promise;
    await page.keyboard.press('Enter');
    await page.locator('article h2', { hasText: 'incident-4711' }).waitFor();
    await page.context().close();
    await own.stop();
  });

  test('is read again after a failed request if it has changed in the meantime', async () => {
    const runs = manyRuns(10_000, Date.now());
    const own = await showPage([...examples(), ...runs]);
    const { page } = await openPage(browser, own.url, 'cvp/network/edge');
    const first = Promise.withResolvers<Route>();
    await page.route('**/api/list*', (route) => first.resolve(route), { times: 1 });
    await page.locator('.row a').first().focus();
    await page.keyboard.press('End');
    const forLastRows = await first.promise;
    own.reader.replace([...examplesAfterRollout(), ...runs]);
    await page.locator('article').getByText('All collectors are upgraded.').first().waitFor();
    await forLastRows.abort();
    await page.locator('.row[aria-posinset="10010"] a[href]').waitFor();
    await page.context().close();
    await own.stop();
  });

  test('is searched by the server', async () => {
    const { page } = await openPage(browser, many.url);
    await page.getByRole('searchbox').fill('team-7/ errors-run-09967');
    await page.locator('.row[aria-setsize="1"] a', { hasText: 'errors-run-09967' }).waitFor();
    await page.getByRole('searchbox').fill('nothing has this name');
    await page.getByText('No resource matches the filter.').waitFor();
    await page.context().close();
  });

  test('can be used with the keyboard alone', async () => {
    const { page } = await openPage(browser, many.url);
    await page.getByRole('searchbox').focus();
    for (let count = 0; count < 5; count++) await page.keyboard.press('Tab');
    const focused = page.locator('.row a:focus');
    expect(await focused.getAttribute('data-index')).toBe('0');
    await page.keyboard.press('End');
    await page.locator('.row[aria-posinset="10010"] a:focus').waitFor();
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowDown');
    await page.locator('.row[aria-posinset="2"] a[href]:focus').waitFor();
    await page.keyboard.press('Enter');
    await page.locator('article h2', { hasText: 'incident-4711' }).waitFor();
    expect(await page.locator('.row a[aria-current="page"]').getAttribute('data-index')).toBe('1');
    await page.context().close();
  });
});

test('a narrow window shows either the list or the details', async () => {
  const { page } = await openPage(browser, shown.url, '', { width: 380, height: 780 });
  expect(await page.locator('.detail-pane').isVisible()).toBe(false);
  await page.locator('.row a', { hasText: 'october-audit' }).click();
  await page.locator('article h2:focus', { hasText: 'october-audit' }).waitFor();
  expect(await page.locator('.list-pane').isVisible()).toBe(false);
  await page.getByRole('link', { name: 'All resources' }).click();
  await page.locator('.row a:focus', { hasText: 'october-audit' }).waitFor();
  expect(await page.locator('.detail-pane').isVisible()).toBe(false);
  await page.context().close();
});

test('an address that names no resource shows the list', async () => {
  for (const hash of ['%', 'cvp/none/none', 'toString']) {
    const { page, errors } = await openPage(browser, shown.url);
    await page.goto(`${shown.url}#${hash}`);
    await page.reload();
    await page.locator('.row a').first().waitFor();
    await page.getByText(`${hash} does not exist`).waitFor();
    expect(errors.filter((error) => !error.includes('404'))).toEqual([]);
    await page.context().close();
  }
});

test('markup in names, messages and reasons is shown as text', async () => {
  const attack = '<img src=x onerror="window.attacked = true"><script>window.attacked = true</script>';
  const status = {
    targetVersion: attack,
    summary: { updated: attack, state: attack },
    versions: [{ version: attack, count: 1 }],
    failureReasons: [{ reason: attack, count: 1, examples: [attack] }],
    stages: [{ name: attack, members: 1, updated: 0, failed: 0, state: 'Progressing' as const }],
    conditions: conditionsOf('Stalled', attack, attack, Date.now()),
  };
  const own = await showPage([shownResource({ kind: 'CollectorVersionPolicy', name: 'attacked', status })]);
  const { page, errors } = await openPage(browser, own.url, 'cvp/logging/attacked');
  expect(await page.locator('.callout').innerText()).toBe(attack);
  expect(await page.locator('.table', { hasText: 'Reason' }).first().innerText()).toContain(attack);
  expect(await page.locator('main img, main script').count()).toBe(0);
  expect(await page.evaluate<boolean>("'attacked' in window")).toBe(false);
  expect(errors).toEqual([]);
  await page.context().close();
  await own.stop();
});
