//! Plain tables: columns as wide as their widest cell, two spaces apart, no trailing blanks.

use crate::words::{MOST_SHOWN, shown};

/// The rows as aligned lines, each ended. Cells count by characters; rows may differ in length.
#[must_use]
pub fn table(rows: &[Vec<String>]) -> String {
    // A cell may be a name from a file, of any length; no column is wider than 65,535 characters.
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| shown(cell, MOST_SHOWN)).collect()).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<_> =
            row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align() {
        let rows = [vec!["a", "bb", "c"], vec!["ää", "b"], vec![]];
        let rows: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(|&cell| cell.into()).collect()).collect();
        assert_eq!(table(&rows), "a   bb  c\nää  b\n\n", "alignment");
        assert_eq!(table(&[]), "", "no rows");
        let long = table(&[vec!["x".repeat(1 << 20), "y".to_owned()]]);
        assert!(
            long.len() < 4100 && long.ends_with("more characters)  y\n"),
            "cut: {}",
            long.len()
        );
    }
}
