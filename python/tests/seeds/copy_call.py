test = wave_compile(options, test)
test(a, b)
