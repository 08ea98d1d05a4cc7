// The skeleton of every reduction: what a subgroup does with its lanes' values at one step of a
// stage. A reduction is this text and two others:
//
//   reduce_NAME.wgsl  how the values of a subgroup are added up in registers, and which lane sends:
//                       ADDS       whether there is such a sum at all
//                       leader     the lane that sends the sum
//                       add_lanes  makes the sum in that lane; the whole subgroup calls it
//   sums_PLACE.wgsl   where a sum goes, at once (`memory`) or by way of the workgroup (`workgroup`):
//                       begin_batch, end_batch  before and after a batch, by the whole workgroup
//                       deliver                 takes one lane's values
//
// The lanes of a group add to the same row, because the whole subgroup is at the same one: the
// ballot that made the group is the match on the row. Where no sum is made in registers (ADDS is
// false) every lane may have a row of its own.
//
// `group` are the lanes that contribute; it is not empty. The values of all other lanes are exact
// zeros.
fn add_up(
    k: u32,
    row: u32,
    contributes: bool,
    group: vec4<u32>,
    subgroup_lane: u32,
    subgroup_size: u32,
    values: ptr<function, array<f32, VALUES>>,
) {
    var sends = contributes;
    // The condition is the same in all lanes of the subgroup: it comes from
    // the ballot.
    if ADDS && group_size(group) >= params.threshold {
        let leads = subgroup_lane == leader(group);
        add_lanes(group, leads, subgroup_size, values);
        // The sum lies in the leader, which need not contribute itself.
        sends = leads;
    }
    if sends {
        deliver(k, row, values);
    }
}
