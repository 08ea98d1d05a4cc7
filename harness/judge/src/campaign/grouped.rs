//! Findings of one fault as one: by what explains them, whatever engine, reduction and output shows them.

use super::finding::Finding;
use super::rows::EngineReport;

/// Where a finding stands: the number of its engine's report, and its own there.
pub type FindingPlace = [usize; 2];

/// The places of findings, fault by fault, in the order in which the first of each stands.
pub fn by_fault(all: impl Iterator<Item = (FindingPlace, String)>) -> Vec<Vec<FindingPlace>> {
    let mut groups: Vec<(String, Vec<FindingPlace>)> = Vec::new();
    for (place, fault) in all {
        match groups.iter_mut().find(|(known, _)| *known == fault) {
            Some((_, places)) => places.push(place),
            None => groups.push((fault, vec![place])),
        }
    }
    groups.into_iter().map(|(_, places)| places).collect()
}

/// The places of all findings of some reports, fault by fault.
#[must_use]
pub fn findings_by_fault(reports: &[EngineReport]) -> Vec<Vec<FindingPlace>> {
    let of = |(engine, report): (usize, &EngineReport)| {
        let fault = |(number, finding): (usize, &Finding)| ([engine, number], finding.same_fault());
        report.findings.iter().enumerate().map(fault).collect::<Vec<_>>()
    };
    by_fault(reports.iter().enumerate().flat_map(of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_of_one_fault_are_together_in_the_order_of_the_first() {
        let all = [([0, 0], "a"), ([0, 1], "b"), ([1, 0], "a"), ([1, 1], "c"), ([1, 2], "b")];
        let groups = by_fault(all.into_iter().map(|(place, fault)| (place, fault.to_owned())));
        let expected = [vec![[0, 0], [1, 0]], vec![[0, 1], [1, 2]], vec![[1, 1]]];
        assert_eq!(groups, expected);
    }
}
