/// The key pair with which the simulated partner asks GoPay for a token. It is used nowhere else,
/// and always the same, so that two runs of a seed are equal.
enum GoPayKey {
  static let privateKey = """
    -----BEGIN PRIVATE KEY-----
    MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCezZRnY/0yxXP1
    Lk0YwHaL3I9rQqk/HzTAKyHWHKXqag9XlgZ2koO+hAcYyT5jnNVQFDH6wTodKWQ+
    QVgQS038ul+WJ9niDDoNF1MG0YBGN+Tm19reO2Gw+25E2rAXLKo7lsf8EWsq76DQ
    ardoqBRG53MnFZJr7+MyzBYJ+c6pBYtjMmS5pg/pGklubdzHF4G2NtiOHbohRk4+
    NaOb1YdjOxmmFa0KTkRcvpJwC+IiWI2SlyX5kv15Q4i9BXkXfN6KJEZDWFZnpwPZ
    +upbUBHGqSy7yGdq65mwYuyQrYx0V2L/B9G6pl2L1toJNMsGyoaWlEDQqmYG1D1r
    11yflWHHAgMBAAECggEABS8p7pwlinBGwlTSIII7/IHlTrec5dojcziVQLOruPTg
    blgP+vP6iBAwWR9MwZy/m/8kyI5hUs1kn+GrOdDziVIeR70iUE5c4MuHotvZB7HQ
    b7bRRtsCa/AxX98Ry5fiMNLR0YlSCdNL2TH6rdh63Pu2VyrNnmd079YYzBeTJxJh
    ioiQTT2Kki7jpxJmLXj5BoOS0EaaHDGXyNrpwFoasx1rYeQLlTzgCCrOSdaAqVzR
    FIkb8jwuENsWgdlb5WJVDYlJvt1a1kq2+NM1YVqhlPNkH2sPwABzNe4r2xE7ir6v
    qtbiBSb/NF7xR5/kwmC8ieM1nZ2apIUEcimw8OqQlQKBgQDdzU/SomPEr9m7pZqi
    IpGG9gIFp3vetZaUxPMdohrWZL92aiH8VjRnFws68PgRJZqc6NEVyAaM7YSNZRqE
    t8+zfMbyqM+wiCCpZFmpvnRwY11hc7j15tzEG8IuekeZhodQDkVhKvVCbJ8AXuhp
    koal7kTISUVov2sp9Zn8aOo6zQKBgQC3SacfTmDjVkXl6hUwP4RsmnGRpcoxtzlE
    /yEROJ/xSCz3ImoXVThnWRqbzTyPA5/p657g8uUB696ljxgnjn5kFUff8I2W5hl/
    EaMkbTv1rKW0key5Pa1pEY+ZBqc1CmIAsK3Bn2ye/yIdcPaaQeQqDOjtRbznfLJ8
    6lkA5Ww24wKBgQCG+BDC1B5x6bBNB5D5aJ+1yK2iUzCFbWqcTNzEA4jhPZ1kqWDU
    9IAe217yFwBdLszO/r18y6NwzngCsqtYZ6H0TtGhiCgZ/Dwj1/TX3hVs7oo8avb6
    a+mbTGj1b2NygPKGPKjrYACu0vpOd3JmC8vz3PHuDug1vYWwmsuBVTZzYQKBgE32
    uWz6pQHuv7rFsI+eZRDhPS/MCs7M9kJgF8vAf2Bd6CqTa/dS27QyVbwyN/FJhGs3
    O5TKHRmNIF7iGE8zMJYX60PZihDG/c9sTC4BfQDKmI3PiJdfIfVQb/mSt+s66GcM
    wExdKRIUyokldPA22Pv+E9Jh2LHK/A1gjc1wyXArAoGAXOOKxpao5UQHXsPWghdY
    vGupNST6If5CNQM9Yxa6qx5sLuKwB44O+l6BkR/+zCX1mayiC5vi55knV5cZOUUp
    MTcBox0gpAF1jaunhPoAQohGhgnbHu9s2y4wxPdKZPYgquWukXGhenjIMpa9YGkK
    UzinCnNZiduAsA/QR6FNZlI=
    -----END PRIVATE KEY-----
    """

  static let publicKey = """
    -----BEGIN PUBLIC KEY-----
    MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAns2UZ2P9MsVz9S5NGMB2
    i9yPa0KpPx80wCsh1hyl6moPV5YGdpKDvoQHGMk+Y5zVUBQx+sE6HSlkPkFYEEtN
    /LpflifZ4gw6DRdTBtGARjfk5tfa3jthsPtuRNqwFyyqO5bH/BFrKu+g0Gq3aKgU
    RudzJxWSa+/jMswWCfnOqQWLYzJkuaYP6RpJbm3cxxeBtjbYjh26IUZOPjWjm9WH
    YzsZphWtCk5EXL6ScAviIliNkpcl+ZL9eUOIvQV5F3zeiiRGQ1hWZ6cD2frqW1AR
    xqksu8hnauuZsGLskK2MdFdi/wfRuqZdi9baCTTLBsqGlpRA0KpmBtQ9a9dcn5Vh
    xwIDAQAB
    -----END PUBLIC KEY-----
    """
}
