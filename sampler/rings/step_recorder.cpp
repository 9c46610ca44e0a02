#include "sampler/rings/step_recorder.h"

namespace sampan::sampler {

void StepRecorder::add(recording::Writer& writer, uint32_t thread, const SampleRecord& sample,
                       SessionNs time_ns) {
  // Their stacks lack the frames by which a step is found.
  if (sample.stop == wire::StopReason::kPythonTorn ||
      sample.stop == wire::StopReason::kDepthLimit) {
    return;
  }
  const StepRecord& step = sample.step;
  const PythonTask none;
  const PythonTask& task = step.task == 0 ? none : tasks_[step.task - 1];
  if (open_ && step.id != 0 && step.id == open_->step && task.id == open_->task.id) {
    open_->row.end_ns = time_ns;
    return;
  }
  close(writer);
  const bool goes_on = step.id != 0 && step.id == last_step_;
  last_step_ = step.id;
  if (step.kind == wire::StepKind::kNone) return;
  if (!goes_on) ++last_id_;
  open_ = {.row = {.begin_ns = time_ns,
                   .end_ns = time_ns,
                   .id = step.id == 0 ? 0 : last_id_,
                   .task = task.id,
                   .thread = thread,
                   .kind = static_cast<recording::StepKind>(step.kind)},
           .step = step.id,
           .task = task};
}

void StepRecorder::close(recording::Writer& writer) {
  if (!open_) return;
  open_->row.name = writer.text(open_->task.name);
  open_->row.text = writer.text(open_->task.coroutine);
  writer.add(open_->row);
  open_.reset();
}

}  // namespace sampan::sampler
