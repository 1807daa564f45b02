#!/usr/bin/env python3
"""count.py REPORT.json: the specs of ginkgo's report that failed, a line each, then how many ran and passed; "asked" are those about what
is part of Capstan: not elastic jobs, custom metric labels and priority boost."""
import json
import os
import re
import sys

not_asked = re.compile(r'elastic ?job|workload ?slic|custom ?(metric ?)?labels|PriorityBoost', re.I)
run = passed = asked = asked_passed = 0
for suite in json.load(open(sys.argv[1])):
    for spec in suite['SpecReports'] or []:
        failed = spec['State'] not in ('passed', 'skipped', 'pending')
        where = os.path.basename(spec['LeafNodeLocation']['FileName']) + ':' + str(spec['LeafNodeLocation']['LineNumber'])
        name = ' / '.join((spec['ContainerHierarchyTexts'] or []) + [spec['LeafNodeText'] or spec['LeafNodeType']])
        outside = not_asked.search(name.replace('-', ' ') + where.replace('_', ' '))
        if spec['LeafNodeType'] == 'It' and spec['State'] not in ('skipped', 'pending'):
            run, passed = run + 1, passed + (not failed)
            asked, asked_passed = asked + (not outside), asked_passed + (not outside and not failed)
        if failed:
            failure = spec.get('Failure') or {}
            at = failure.get('Location') or {}
            print(where, name, '-', os.path.basename(at.get('FileName', '')) + ':' + str(at.get('LineNumber', '')),
                  re.sub(r'\s+', ' ', failure.get('Message', ''))[:200], '(not asked)' if outside else '')
print(f'{os.path.basename(sys.argv[1])[:-5]}: {run} run, {passed} passed, {run - passed} failed; asked {asked}, of these passed {asked_passed}')
