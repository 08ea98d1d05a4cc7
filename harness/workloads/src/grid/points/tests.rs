use super::*;
use splatcheck_reference::splat::Colors;

/// Two Gaussians of deviation 0.01 at opposite ends of a line, and many at its middle.
fn scene() -> Gaussians<f32> {
    let means: Vec<[f32; 3]> = (0..101_u8).map(|i| [f32::from(i) / 100.0, 0.5, 0.5]).collect();
    let n = means.len();
    Gaussians {
        means,
        quats: vec![[1.0, 0.0, 0.0, 0.0]; n],
        scales: vec![[0.01; 3]; n],
        opacities: vec![0.5; n],
        colors: Colors::Direct { channels: 1, values: vec![0.0; n] },
    }
}

/// A camera in front of the line at distance 2 that looks along z.
fn view() -> View {
    let viewmat =
        [[1.0, 0.0, 0.0, -0.5], [0.0, 1.0, 0.0, -0.5], [0.0, 0.0, 1.0, 1.5], [0.0, 0.0, 0.0, 1.0]];
    (Camera { viewmat, fx: 100.0, fy: 100.0, cx: 50.0, cy: 40.0 }, [100, 80])
}

#[test]
fn points_lie_where_the_scene_is_in_the_order_of_their_rays() {
    let points = along_rays(&scene(), &[view()], 5000, 3).expect("the camera sees the line");
    assert_eq!(points.len(), 5000);
    let near = |x: f32| (x - 0.5).abs() < 0.03;
    assert!(points.iter().all(|&[_, y, z]| near(y) && near(z)), "on the line");
    let [low, high] = [f32::min, f32::max]
        .map(|of| points.iter().map(|point| point[0]).reduce(of).expect("there are some"));
    assert!(low < 0.1 && high > 0.9, "all over it: {low} to {high}");
    // The step of a ray is the diagonal over 1,024; neighbours of two rays are far apart.
    let step = 3_f32.sqrt() / 1024.0;
    let distance = |pair: &[[f32; 3]]| {
        let square = |axis: usize| (pair[0][axis] - pair[1][axis]).powi(2);
        (square(0) + square(1) + square(2)).sqrt()
    };
    let of_one_ray = points.windows(2).filter(|pair| (distance(pair) - step).abs() < 1e-4).count();
    assert!(of_one_ray > 4000, "{of_one_ray} neighbours are one step of a ray apart");
}

#[test]
fn a_scene_that_gives_no_points_says_why() {
    let (camera, size) = view();
    let mut away = camera;
    away.viewmat[0] = [-1.0, 0.0, 0.0, 0.5];
    away.viewmat[2] = [0.0, 0.0, -1.0, -1.5];
    let error = along_rays(&scene(), &[(away, size)], 10, 1).expect_err("it looks away");
    assert_eq!(error, PointsError::Unseen { found: 0, wanted: 10 });
    let views = [(camera, size)];
    let mut nothing = scene();
    nothing.means.iter_mut().for_each(|mean| mean[1] = f32::NAN);
    assert_eq!(along_rays(&nothing, &views, 10, 1), Err(PointsError::Empty));
    let mut one_place = scene();
    one_place.means.fill([0.25; 3]);
    assert_eq!(along_rays(&one_place, &views, 10, 1), Err(PointsError::Extent));
}

#[test]
fn orders_have_the_same_points() {
    let drawn = uniform::<3>(1000, 7);
    let sorted = |mut points: Vec<[f32; 3]>| {
        points.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
        points
    };
    for order in Order::ALL {
        let there = in_order(drawn.clone(), order, 5);
        assert_eq!(there == drawn, order == Order::Drawn, "{}", order.name());
        assert_eq!(sorted(there), sorted(drawn.clone()), "{}", order.name());
    }
    // Of the four quarters of a square a Morton curve goes through one after another.
    let quarters: Vec<_> = in_order(pixels([4, 4], 16), Order::Morton, 0)
        .iter()
        .map(|[x, y]| u8::from(*x > 0.5) + 2 * u8::from(*y > 0.5))
        .collect();
    assert_eq!(quarters, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
}

#[test]
fn an_image_has_its_pixels_row_by_row() {
    assert_eq!(pixels([2, 1], 9), [[0.25, 0.25], [0.75, 0.25]]);
    assert_eq!(pixels([4, 4], 5)[4], [0.125, 0.375]);
}
