import ArgumentParser
import UsherClient

/// One option `--param name=value`; a dotted name addresses a member of an object.
struct NamedParam: ExpressibleByArgument {
  let path: [String]
  let value: String

  init?(argument: String) {
    guard let sign = argument.firstIndex(of: "=") else { return nil }
    path = argument[..<sign].split(separator: ".", omittingEmptySubsequences: false)
      .map(String.init)
    value = String(argument[argument.index(after: sign)...])
    if path.contains("") { return nil }
  }

  var name: String { path.joined(separator: ".") }
}

/// An option of usherctl that sets one parameter of a flow. The same parameter may not be set by
/// another option too. The value is nil if the option is not given.
typealias ShortForm = (option: String, param: String, value: JSONValue?)

/// Converts the parameters of a command line to the JSON types that the flow expects.
struct FlowParams {
  let context: CommandContext
  let provider: String
  let kind: String

  /// Returns the parameters of the flow.
  ///
  /// - Throws: ``CommandFailure`` with status 64, which names the parameter and what is wrong with
  ///   it.
  func json(
    _ base: JSONValue, _ shortForms: [ShortForm], _ named: [NamedParam]
  ) async throws -> JSONValue {
    var params = try base.adding(shortForms, besides: named)
    let schema = named.contains { $0.mayBeNonString } ? try await schema() : nil
    for param in named {
      let value = try await value(of: param, by: schema?.member(param.path[...]))
      guard params.set(value, at: param.path[...]) else {
        throw CommandFailure("--param \(param.name): its parent is not an object", status: .usage)
      }
    }
    return params
  }

  /// Returns the JSON Schema of the flow's parameters; nil if the daemon does not return one, for a
  /// reason that `flow.start` reports.
  private func schema() async throws -> JSONValue? {
    do {
      let reply = try await context.app.call(ProviderGet(provider: ProviderName(provider)))
      return reply.flows.first { $0.kind == kind }?.params
    } catch is UsherError {
      return nil
    }
  }

  /// Converts the value of an option to JSON, unless the schema says that the parameter is a
  /// string.
  private func value(of param: NamedParam, by schema: JSONValue?) async throws -> JSONValue {
    if schema?["type"] == "string" { return .string(param.value) }
    if param.value.hasPrefix("@") {
      return try await contents(of: param.value.dropFirst(), "--param \(param.name)")
    }
    guard let json = param.json, schema != nil || json.isContainer else {
      return .string(param.value)
    }
    return json
  }

  /// Parses the argument of `--params`: JSON, or `@FILE`, which keeps secrets out of the list of
  /// processes.
  func whole(_ text: String) async throws -> JSONValue {
    guard text.hasPrefix("@") else { return try JSONValue(argument: text) }
    return try await contents(of: text.dropFirst(), "--params")
  }

  /// Reads JSON from a file, or from standard input if the name is `-`.
  private func contents(of name: Substring, _ option: String) async throws -> JSONValue {
    let file = String(name)
    let bytes =
      file == "-"
      ? try await context.console.readAll(limit: JSONLimits().lineBytes) : try Files.read(file)
    do {
      return try JSONValue(parsing: bytes)
    } catch {
      throw CommandFailure("\(option): \(file) is not JSON: \(error)", status: .usage)
    }
  }
}

extension NamedParam {
  fileprivate var json: JSONValue? { try? JSONValue(parsing: value) }

  /// Whether this schema of a parameter allows a JSON value other than a string.
  fileprivate var mayBeNonString: Bool {
    value.hasPrefix("@") || json.map { $0.stringValue == nil } ?? false
  }
}

extension JSONValue {
  /// Adds the options that set one parameter each.
  ///
  /// - Throws: ``CommandFailure`` with status 64 if a parameter is set by two options, or if
  ///   `--params` is not an object.
  fileprivate func adding(
    _ shortForms: [ShortForm], besides named: [NamedParam]
  ) throws -> JSONValue {
    var params = self
    for form in shortForms where form.value != nil {
      let other =
        named.contains { $0.path[0] == form.param }
        ? "--param" : self[form.param].map { _ in "--params" }
      if let other {
        throw CommandFailure("\(form.option) and \(other) both set \(form.param)", status: .usage)
      }
      guard objectValue != nil else {
        throw CommandFailure("--params is not a JSON object", status: .usage)
      }
      params[form.param] = form.value
    }
    return params
  }

  fileprivate var isContainer: Bool { arrayValue != nil || objectValue != nil }

  /// Returns the schema of a member within this schema; nil if this schema does not describe it.
  fileprivate func member(_ path: ArraySlice<String>) -> JSONValue? {
    guard let name = path.first else { return self }
    return self["properties"]?[name]?.member(path.dropFirst())
  }

  /// Sets the member at a path. Objects on the path that do not exist are created.
  ///
  /// - Returns: False, without any change, if a value on the path is not an object.
  fileprivate mutating func set(_ value: JSONValue, at path: ArraySlice<String>) -> Bool {
    guard let name = path.first else {
      self = value
      return true
    }
    guard objectValue != nil else { return false }
    var member = path.count == 1 ? value : self[name] ?? [:]
    guard member.set(value, at: path.dropFirst()) else { return false }
    self[name] = member
    return true
  }
}
