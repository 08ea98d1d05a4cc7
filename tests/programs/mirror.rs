//! A user's program in Rust: the oracle's f32 instance behind the protocol of `--command`. Its arguments
//! are the stage that it does and the defect that it has, if any; 'crashes' is to end at every other request,
//! 'slow' to take its time for each, 'keeps' to add to the gradients of the
//! request before if that was of the same scene.

use safetensors::SafeTensors;
use safetensors::tensor::Dtype as FileType;
use splatcheck_gpu::stage::{Port, Role};
use splatcheck_gpu::{Data, Dtype, Engine as _, Reduction, Setting, Stage, Tensor, Tensors, Work};
use splatcheck_judge::engines::command::encode;
use splatcheck_tests::{Defect, Mirror};
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::io::{BufRead as _, Write as _};

type Failed = Box<dyn Error>;

/// A number by itself, which is in the metadata.
fn number(port: &Port, metadata: &HashMap<String, String>) -> Result<Tensor, Failed> {
    let text =
        metadata.get(port.name).ok_or_else(|| format!("no {} in the metadata", port.name))?;
    Ok(match port.dtype {
        Dtype::F32 => Tensor::scalar(text.parse::<f32>()?),
        Dtype::U32 | Dtype::I32 => Tensor::scalar(text.parse::<u32>()?),
    })
}

/// An array. Indices are signed in files.
fn array(port: &Port, file: &SafeTensors<'_>) -> Result<Tensor, Failed> {
    let tensor = file.tensor(port.name)?;
    let expected = if port.dtype == Dtype::F32 { FileType::F32 } else { FileType::I32 };
    if tensor.dtype() != expected {
        return Err(format!("{} is {:?}", port.name, tensor.dtype()).into());
    }
    let words: Vec<u32> =
        tensor.data().as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let data = Data::from_words(port.dtype, &words);
    Ok(Tensor::new(port.name, tensor.shape().to_vec(), data)?)
}

/// The inputs of a stage from a file.
fn inputs(stage: Stage, bytes: &[u8]) -> Result<Tensors, Failed> {
    let file = SafeTensors::deserialize(bytes)?;
    let (_, header) = SafeTensors::read_metadata(bytes)?;
    let metadata = header.metadata().clone().unwrap_or_default();
    let mut all = Tensors::new();
    for port in stage.inputs {
        let alone = matches!(port.role, Role::Size(_)) || port.shape.is_empty();
        let tensor = if alone { number(port, &metadata)? } else { array(port, &file)? };
        all.insert(port.name, tensor);
    }
    Ok(all)
}

fn run(
    mirror: &mut Mirror,
    stage: Stage,
    bytes: &[u8],
    kept: Option<&mut Kept>,
) -> Result<Vec<u8>, Failed> {
    let inputs = inputs(stage, bytes)?;
    let setting = Setting { reduction: Reduction::BASELINE, threshold: 0 };
    let settings = [stage.accumulates().then_some(setting)];
    let mut outputs = mirror.run(stage, &[Work { inputs: &inputs, settings: &settings }])?;
    let mut outputs = outputs.pop().and_then(|mut one| one.pop()).ok_or("no outputs")?;
    if let Some(kept) = kept {
        let scene = inputs.get("means2d")?.words().to_vec();
        if let Some((_, before)) = kept.take_if(|(of, _)| *of == scene) {
            add(&mut outputs, &before)?;
        }
        *kept = Some((scene, outputs.clone()));
    }
    Ok(encode(&BTreeMap::new(), &outputs)?)
}

/// The outputs of a request before that were not cleared.
type Kept = Option<(Vec<u32>, Tensors)>;

fn add(outputs: &mut Tensors, before: &Tensors) -> Result<(), Failed> {
    for (name, tensor) in before.iter() {
        let sum = outputs.f32(name)?.iter().zip(before.f32(name)?).map(|(a, b)| a + b).collect();
        let sum = Tensor::new(name, tensor.shape().to_vec(), Data::F32(sum))?;
        outputs.insert(name.to_owned(), sum);
    }
    Ok(())
}

fn main() -> Result<(), Failed> {
    let mut words = std::env::args().skip(1);
    let stage: Stage = words.next().ok_or("which stage?")?.parse()?;
    let defect = words.next();
    let crashes = defect.as_deref() == Some("crashes");
    let slow = defect.as_deref() == Some("slow");
    let keeps = defect.as_deref() == Some("keeps");
    let defect = match defect.as_deref() {
        None | Some("crashes" | "slow" | "keeps") => Defect::None,
        Some("lane") => Defect::LostLane(31),
        Some("channel") => Defect::LostChannel(0),
        Some("camera") => Defect::LastCamera,
        Some("degree") => Defect::LowerDegree,
        Some(other) => return Err(format!("no defect {other}").into()),
    };
    let (mut mirror, mut kept) = (Mirror::new(32, defect), None);
    for line in std::io::stdin().lock().lines() {
        let request: serde_json::Value = serde_json::from_str(&line?)?;
        if crashes && request["id"].as_u64().is_some_and(|id| id % 2 == 1) {
            return Err("an odd request".into());
        }
        if slow {
            std::thread::sleep(std::time::Duration::from_millis(400));
        }
        let path = |key: &str| request[key].as_str().map(str::to_owned).ok_or("no path");
        let input = std::fs::read(path("input")?)?;
        let output = run(&mut mirror, stage, &input, keeps.then_some(&mut kept))?;
        std::fs::write(path("output")?, output)?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", serde_json::json!({"id": request["id"], "ok": true}))?;
        out.flush()?;
    }
    Ok(())
}
