// See libonnx.h.
#define ONNX_ML 1
#define ONNX_NAMESPACE onnx
#include "libonnx.h"

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace {

void show(const onnx::ValueInfoProto &v, libonnx_visit visit, void *ctx)
{
	if (!v.has_type() || !v.type().has_tensor_type())
		return;
	const auto &t = v.type().tensor_type();
	std::vector<int64_t> dim;
	for (const auto &d : t.shape().dim())
		dim.push_back(d.has_dim_value() ? d.dim_value() : -1);
	dim.push_back(0);
	visit(ctx, v.name().c_str(), t.elem_type(), t.has_shape() ? t.shape().dim_size() : -1, dim.data());
}

void close_inputs(onnx::GraphProto *g)
{
	for (auto &in : *g->mutable_input()) {
		if (!in.type().has_tensor_type() || !in.type().tensor_type().has_shape())
			continue;
		for (auto &d : *in.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim())
			if (!d.has_dim_value() || d.dim_value() < 0)
				d.set_dim_value(1);
	}
}

// Outputs without a type are not valid to libonnx: they are left out of the list of outputs and asked for as
// values.
void forget(onnx::GraphProto *g, libonnx_visit declared, void *ctx)
{
	for (const auto &v : g->value_info())
		show(v, declared, ctx);
	for (const auto &v : g->output())
		show(v, declared, ctx);
	g->clear_value_info();
	for (auto &out : *g->mutable_output())
		out.clear_type();
}

// The contents of the inputs, where they are tensors, as initializers.
void fix_inputs(onnx::GraphProto *g, const std::string &folder)
{
	for (int i = 0; i < g->input_size(); i++) {
		std::ifstream file(folder + "/input_" + std::to_string(i) + ".pb", std::ios::binary);
		onnx::TensorProto t;
		if (!g->input(i).type().has_tensor_type() || !file || !t.ParseFromIstream(&file))
			continue;
		if (t.data_type() != g->input(i).type().tensor_type().elem_type())
			continue; // bfloat16 is stored as another type there
		t.set_name(g->input(i).name());
		*g->add_initializer() = t;
	}
}

char *copy(const char *text)
{
	size_t n = strlen(text) + 1;
	char *out = static_cast<char *>(malloc(n));
	if (out)
		memcpy(out, text, n);
	return out;
}

}

char *libonnx_infer(const unsigned char *data, size_t size, const char *inputs, libonnx_visit inferred,
                    libonnx_visit declared, void *ctx, unsigned char **stripped, size_t *n)
{
	try {
		onnx::ModelProto m;
		if (!m.ParseFromArray(data, static_cast<int>(size)))
			return copy("not a model");
		close_inputs(m.mutable_graph());
		if (inputs)
			fix_inputs(m.mutable_graph(), inputs);
		forget(m.mutable_graph(), declared, ctx);
		*n = m.ByteSizeLong();
		*stripped = static_cast<unsigned char *>(malloc(*n + 1));
		if (!*stripped || !m.SerializeToArray(*stripped, static_cast<int>(*n)))
			return copy("cannot be written");
		onnx::ShapeInferenceOptions options{false, 0, true};
		onnx::shape_inference::InferShapes(m, onnx::OpSchemaRegistry::Instance(), options);
		std::set<std::string> made;
		for (const auto &node : m.graph().node())
			for (const auto &out : node.output())
				made.insert(out);
		for (const auto &v : m.graph().value_info())
			if (made.count(v.name()))
				show(v, inferred, ctx);
		for (const auto &v : m.graph().output())
			if (made.count(v.name()))
				show(v, inferred, ctx);
		return nullptr;
	} catch (const std::exception &e) {
		return copy(e.what());
	}
}
