"""proto.py - message classes of python3-protobuf out of .proto files, without protoc: what data/proto says is what is spoken."""
import re

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

SCALARS = {
    "string": descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
    "bytes": descriptor_pb2.FieldDescriptorProto.TYPE_BYTES,
    "bool": descriptor_pb2.FieldDescriptorProto.TYPE_BOOL,
    "int32": descriptor_pb2.FieldDescriptorProto.TYPE_INT32,
    "int64": descriptor_pb2.FieldDescriptorProto.TYPE_INT64,
    "uint64": descriptor_pb2.FieldDescriptorProto.TYPE_UINT64,
}
MESSAGE = re.compile(r"message\s+(\w+)\s*\{([^}]*)\}")
FIELD = re.compile(r"(repeated\s+)?(map<string,\s*string>|\w+)\s+(\w+)\s*=\s*(\d+);")
METHOD = re.compile(r"rpc\s+(\w+)\((\w+)\)\s+returns\s+\((stream\s+)?(\w+)\)")
SERVICE = re.compile(r"service\s+(\w+)\s*\{(.*?)\n\}", re.S)


def add_map_entry(message, name):
    """A map is a repeated message with key and value."""
    entry = message.nested_type.add(name="".join(w.capitalize() for w in name.split("_")) + "Entry")
    entry.options.map_entry = True
    for number, key in ((1, "key"), (2, "value")):
        entry.field.add(name=key, number=number, type=SCALARS["string"], label=1)
    return entry.name


def add_field(package, message, repeated, kind, name, number):
    field = message.field.add(name=name, number=int(number), label=3 if repeated or kind.startswith("map") else 1)
    if kind.startswith("map"):
        field.type = 11
        field.type_name = f".{package}.{message.name}.{add_map_entry(message, name)}"
    elif kind in SCALARS:
        field.type = SCALARS[kind]
    else:
        field.type = 11
        field.type_name = f".{package}.{kind}"


class Proto:
    """Attributes: the message classes by name; `methods`: {service: {method: (path, request, response, streams)}}."""

    def __init__(self, path, package=None):
        with open(path, encoding="utf-8") as f:
            text = re.sub(r"//[^\n]*", "", f.read())
        package = package or re.search(r"package\s+(\w+);", text).group(1)
        file = descriptor_pb2.FileDescriptorProto(name=f"{package}/{path}", package=package, syntax="proto3")
        for name, body in MESSAGE.findall(text):
            message = file.message_type.add(name=name)
            for field in FIELD.findall(body):
                add_field(package, message, *field)
        pool = descriptor_pool.DescriptorPool()
        pool.Add(file)
        factory = message_factory.MessageFactory(pool)
        for message in file.message_type:
            setattr(self, message.name, factory.GetPrototype(pool.FindMessageTypeByName(f"{package}.{message.name}")))
        self.methods = {}
        for service, body in SERVICE.findall(text):
            self.methods[service] = {
                method: (f"/{package}.{service}/{method}", getattr(self, request), getattr(self, response), bool(streams))
                for method, request, streams, response in METHOD.findall(body)
            }
