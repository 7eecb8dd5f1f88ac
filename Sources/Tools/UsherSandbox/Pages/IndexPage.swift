/// `GET /`: the backends, the test users, and how to point usherd at each backend.
struct IndexPage: Sendable {
  let context: BackendContext
  let backends: [any Backend]
  let controls: [Endpoint]

  var endpoint: Endpoint {
    Endpoint("index", .get, "/") { call in
      context.pages.render(
        "index",
        [
          "base": call.base,
          "backends": backends.map { Self.values($0, call.base) },
          "users": context.users.all.map {
            [
              "name": $0.username, "password": $0.password, "pin": $0.pin ?? "", "sub": $0.sub,
              "phone": $0.phone ?? "", "email": $0.email,
            ]
          },
          "controls": controls.map { ["method": $0.method.rawValue, "path": $0.path] },
        ])
    }
  }

  private static func values(_ backend: any Backend, _ base: String) -> [String: Any] {
    [
      "title": backend.title,
      "links": backend.links(base: base).map { ["title": $0.title, "url": $0.url] },
      "sample": backend.configurationSample(base: base),
    ]
  }
}
